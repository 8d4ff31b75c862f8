"""Programs for confluent-kafka are told what to write; others never see these errors."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import zkconsumer
from tests.support.poll_callers import ConsumerFactory
from zkconsumer import KafkaConsumer
from zkconsumer.consumer.settings.confluent_names import KEYS, METHODS
from zkconsumer.consumer.settings.keys import BY_KEY
from zkconsumer.errors import IllegalArgumentError

PAGE = Path(zkconsumer.__file__).parents[1] / "docs" / "migrating-from-confluent-kafka.md"


def test_a_dict_in_place_of_topics_is_refused() -> None:
    """The error translates the names and omits the values, since some are secret."""
    given: Any = {"bootstrap.servers": "h", "group.id": "g", "sasl.password": "secret"}
    with pytest.raises(ValueError, match=r"KafkaConsumer\('topic', bootstrap_servers") as raised:
        KafkaConsumer(given)
    assert "group_id=..., sasl_plain_password=..." in str(raised.value)
    assert "secret" not in str(raised.value)
    nothing: Any = {}
    with pytest.raises(ValueError, match=r"bootstrap_servers=\.\.\., group_id=\.\.\."):
        KafkaConsumer(nothing)


def test_keyword_arguments_with_dots_are_refused() -> None:
    """The error has the name to write."""
    with pytest.raises(
        ValueError, match=r"bootstrap\.servers is not a keyword.*bootstrap_servers="
    ):
        KafkaConsumer(**{"bootstrap.servers": "h"})  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1.0, 0.1, 0.25, 5.0, 10.0])
def test_a_poll_timeout_in_seconds_is_refused(
    make_consumer: ConsumerFactory, seconds: float
) -> None:
    """A positional float that looks like seconds is refused."""
    consumer, _ = make_consumer("t")
    with pytest.raises(IllegalArgumentError, match=rf"timeout_ms={round(seconds * 1000)}\)"):
        consumer.poll(seconds)
    consumer.poll(timeout_ms=min(seconds, 1.0))  # with the unit in its name it is accepted


@pytest.mark.parametrize("wait_ms", [0, 0.0, 1, 3.7251, 0.4999, 1e-9])
def test_other_positional_timeouts_are_milliseconds(
    make_consumer: ConsumerFactory, wait_ms: float
) -> None:
    """Integers and computed fractions are accepted."""
    consumer, _ = make_consumer("t")
    assert consumer.poll(wait_ms) == {}


def test_confluent_kafka_s_timeout_argument_is_refused(make_consumer: ConsumerFactory) -> None:
    """Its ``timeout`` is in seconds."""
    consumer, _ = make_consumer("t")
    poll: Any = consumer.poll
    with pytest.raises(TypeError, match="write timeout_ms, in milliseconds"):
        poll(timeout=1.0)


def test_poll_shows_its_real_signature() -> None:
    """Instrumentation that inspects the arguments sees them."""
    assert list(inspect.signature(KafkaConsumer.poll).parameters)[1:3] == [
        "timeout_ms",
        "max_records",
    ]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods_of_confluent_kafka_are_refused_with_ours(
    make_consumer: ConsumerFactory, name: str
) -> None:
    """They are missing attributes whose error names our method."""
    consumer, _ = make_consumer("t")
    assert not hasattr(consumer, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}' .*write "):
        getattr(consumer, name)
    for ours in re.findall(r"\b([a-z_]+)\(", METHODS[name]):
        assert hasattr(consumer, ours)


def test_other_missing_attributes_raise_the_usual_error(make_consumer: ConsumerFactory) -> None:
    """The error does not mention confluent-kafka."""
    consumer, _ = make_consumer("t")
    with pytest.raises(AttributeError, match=r"^'KafkaConsumer' object has no attribute 'pol'$"):
        consumer.pol  # type: ignore[attr-defined]  # noqa: B018 - it raises


def test_the_migration_page_lists_all_names() -> None:
    """Its tables have every translated name, and each of our names exists."""
    page = PAGE.read_text("utf-8")
    assert [name for name in (*KEYS, *METHODS) if f"`{name}" not in page] == []
    assert [ours for ours in KEYS.values() if ours.replace("_", ".") not in BY_KEY] == []
