"""Programs for confluent-kafka are told what to write; those for kafka-python never hear of it."""

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import zkconsumer
from tests.support.poll_callers import Make
from zkconsumer import KafkaConsumer
from zkconsumer.consumer.settings.confluent_names import KEYS, METHODS
from zkconsumer.consumer.settings.keys import BY_KEY
from zkconsumer.errors import IllegalArgumentError

PAGE = Path(zkconsumer.__file__).parents[1] / "docs" / "migrating-from-confluent-kafka.md"


def test_a_dict_is_no_topic() -> None:
    """The names are translated; values are not repeated, since some are secret."""
    given: Any = {"bootstrap.servers": "h", "group.id": "g", "sasl.password": "secret"}
    with pytest.raises(ValueError, match=r"KafkaConsumer\('topic', bootstrap_servers") as raised:
        KafkaConsumer(given)
    assert "group_id=..., sasl_plain_password=..." in str(raised.value)
    assert "secret" not in str(raised.value)
    nothing: Any = {}
    with pytest.raises(ValueError, match=r"bootstrap_servers=\.\.\., group_id=\.\.\."):
        KafkaConsumer(nothing)


def test_keys_with_dots_are_no_keyword_arguments() -> None:
    """The sentence has the name to write."""
    with pytest.raises(
        ValueError, match=r"bootstrap\.servers is not a keyword.*bootstrap_servers="
    ):
        KafkaConsumer(**{"bootstrap.servers": "h"})  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [1.0, 0.1, 0.25, 5.0, 10.0])
def test_a_poll_for_seconds_is_refused(make: Make, seconds: float) -> None:
    """By position, where it looks as people write it."""
    consumer, _ = make("t")
    with pytest.raises(IllegalArgumentError, match=rf"timeout_ms={round(seconds * 1000)}\)"):
        consumer.poll(seconds)
    consumer.poll(timeout_ms=min(seconds, 1.0))  # whoever says the unit means it


@pytest.mark.parametrize("wait_ms", [0, 0.0, 1, 3.7251, 0.4999, 1e-9])
def test_other_waits_are_milliseconds(make: Make, wait_ms: float) -> None:
    """Whole numbers, and what programs compute."""
    consumer, _ = make("t")
    assert consumer.poll(wait_ms) == {}


def test_a_timeout_by_their_name_is_refused(make: Make) -> None:
    """Their ``timeout`` is in seconds."""
    consumer, _ = make("t")
    poll: Any = consumer.poll
    with pytest.raises(TypeError, match="write timeout_ms, in milliseconds"):
        poll(timeout=1.0)


def test_poll_looks_as_it_is() -> None:
    """Who asks for its arguments, as instrumentations do, sees them."""
    assert list(inspect.signature(KafkaConsumer.poll).parameters)[1:3] == [
        "timeout_ms",
        "max_records",
    ]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_their_methods_name_ours(make: Make, name: str) -> None:
    """As an attribute that isn't there; nothing says that it has it."""
    consumer, _ = make("t")
    assert not hasattr(consumer, name)
    with pytest.raises(AttributeError, match=f"no attribute '{name}' .*write "):
        getattr(consumer, name)
    for ours in re.findall(r"\b([a-z_]+)\(", METHODS[name]):
        assert hasattr(consumer, ours)


def test_other_attributes_are_missing_as_ever(make: Make) -> None:
    """Without a word of anybody else."""
    consumer, _ = make("t")
    with pytest.raises(AttributeError, match=r"^'KafkaConsumer' object has no attribute 'pol'$"):
        consumer.pol  # type: ignore[attr-defined]  # noqa: B018 - it raises


def test_the_page_has_all_of_them() -> None:
    """What the sentences say is in its tables; what they call ours is there."""
    page = PAGE.read_text("utf-8")
    assert [name for name in (*KEYS, *METHODS) if f"`{name}" not in page] == []
    assert [ours for ours in KEYS.values() if ours.replace("_", ".") not in BY_KEY] == []
