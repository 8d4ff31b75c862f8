import dataclasses
import logging
import pickle
import re
from pathlib import Path
from typing import Any

import pytest

from zkconsumer.config import ConsumerConfig
from zkconsumer.errors import ConfigError

REQUIRED = {"zookeeper.connect": "h1:2181,h2:2181/kafka", "group.id": "g1"}


def config(**settings: Any) -> ConsumerConfig:
    """Build a configuration of the required settings and these."""
    return ConsumerConfig(REQUIRED, **settings)


def test_defaults_are_those_of_kafka_0_8_2() -> None:
    """With only the two required settings, all others have the defaults of 0.8.2."""
    found = config()
    assert found.zookeeper_connect == "h1:2181,h2:2181/kafka"
    assert found.group_id == "g1"
    assert found.zookeeper_session_timeout_ms == 6000
    assert found.fetch_message_max_bytes == 1024 * 1024
    assert found.num_consumer_fetchers == 1
    assert found.auto_commit_enable is True
    assert found.auto_commit_interval_ms == 60_000
    assert found.rebalance_max_retries == 4
    assert found.auto_offset_reset == "largest"
    assert found.consumer_timeout_ms == -1
    assert found.partition_assignment_strategy == "range"
    assert found.offsets_storage == "zookeeper"
    assert found.consumer_id is None


def test_our_own_settings_have_defaults_too() -> None:
    """Settings that the original lacks have defaults as well."""
    found = config()
    assert found.fetch_message_growth_max_bytes == 104_857_600
    assert found.fetch_max_decompressed_bytes == 134_217_728
    assert found.shutdown_timeout_ms == 30_000


def test_some_defaults_follow_other_settings() -> None:
    """A default may depend on another setting, but an explicit value wins."""
    found = config(zookeeper_session_timeout_ms=9000, zookeeper_sync_time_ms=200)
    assert found.zookeeper_connection_timeout_ms == 9000
    assert found.rebalance_backoff_ms == 200
    assert found.client_id == "g1"
    assert found.dual_commit_enabled is False
    assert config(offsets_storage="kafka").dual_commit_enabled is True
    assert config(rebalance_backoff_ms=1).rebalance_backoff_ms == 1
    large = config(fetch_message_max_bytes=200_000_000)
    assert large.fetch_message_growth_max_bytes == 200_000_000


def test_settings_may_be_strings_or_python_values() -> None:
    """A properties file holds only strings, which give the same settings as Python values."""
    texts = ConsumerConfig({**REQUIRED, "auto.commit.enable": "false", "fetch.min.bytes": " +7 "})
    values = config(auto_commit_enable=False, fetch_min_bytes=7)
    assert texts == values
    assert (texts.auto_commit_enable, texts.fetch_min_bytes) == (False, 7)


def test_keyword_arguments_win_over_the_dictionary() -> None:
    """Keyword arguments override the dictionary; None counts as not given in both."""
    assert config(group_id="other").group_id == "other"
    assert config(group_id=None).group_id == "g1"
    assert ConsumerConfig({**REQUIRED, "client.id": None}).client_id == "g1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("smallest", "smallest"),
        ("largest", "largest"),
        ("earliest", "smallest"),
        ("latest", "largest"),
    ],
)
def test_offset_reset_knows_the_names_of_later_versions(given: str, expected: str) -> None:
    """The later names "earliest" and "latest" become "smallest" and "largest"."""
    assert config(auto_offset_reset=given).auto_offset_reset == expected


def test_offsets_storage_may_be_written_in_any_case() -> None:
    """``offsets.storage`` ignores case, as in the original; other choices do not."""
    assert config(offsets_storage="Kafka").offsets_storage == "kafka"
    with pytest.raises(ConfigError, match=r"auto\.offset\.reset"):
        config(auto_offset_reset="Smallest")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("group.id", "", "at least one of them"),
        ("group.id", "a/b", "letters, digits"),
        ("group.id", "a b", "letters, digits"),
        ("group.id", "..", "letters, digits"),
        ("group.id", "gr\u00fcn", "letters, digits"),
        ("group.id", 7, "letters, digits"),
        ("client.id", "a:b", "letters, digits"),
        ("consumer.id", "", "without a slash"),
        ("consumer.id", "a/b", "without a slash"),
        ("consumer.id", "a\x00b", "without a slash"),
        ("zookeeper.connect", "  ", "host1:port1"),
        ("zookeeper.connect", 2181, "host1:port1"),
        ("num.consumer.fetchers", 0, "an integer of at least 1"),
        ("num.consumer.fetchers", "two", "an integer of at least 1"),
        ("num.consumer.fetchers", True, "an integer of at least 1"),
        ("num.consumer.fetchers", 1.0, "an integer of at least 1"),
        ("num.consumer.fetchers", "1_0", "an integer of at least 1"),
        ("num.consumer.fetchers", "\u0663", "an integer of at least 1"),
        ("num.consumer.fetchers", "9" * 5000, "an integer of at least 1"),
        ("consumer.timeout.ms", 2**31, "a 32-bit integer"),
        ("queued.max.message.chunks", 0, "at least 1"),
        ("rebalance.max.retries", 0, "at least 1"),
        ("auto.commit.enable", "True", "true or false"),
        ("auto.commit.enable", "yes", "true or false"),
        ("auto.commit.enable", 1, "true or false"),
        ("auto.offset.reset", "none", "smallest or largest"),
        ("partition.assignment.strategy", "RoundRobin", "range or roundrobin"),
        ("partition.assignment.strategy", 1, "range or roundrobin"),
        ("offsets.storage", "redis", "zookeeper or kafka"),
        ("serializer.encoding", "no-such", "character set"),
        ("serializer.encoding", "hex", "character set"),
        ("kafka.csv.metrics.reporter.enabled", "maybe", "true or false"),
    ],
)
def test_a_wrong_value_is_refused_by_name(key: str, value: object, allowed: str) -> None:
    """The error names the key, the value and what is allowed."""
    with pytest.raises(ConfigError) as refused:
        ConsumerConfig({**REQUIRED, key: value})
    message = str(refused.value)
    assert key in message
    assert repr(value)[:90] in message
    assert allowed in message
    assert len(message) < 300


@pytest.mark.parametrize("key", ["zookeeper.connect", "group.id"])
def test_a_missing_setting_is_named(key: str) -> None:
    """The error names the missing setting and how to give it."""
    with pytest.raises(ConfigError, match=f"{key} is required: give it"):
        ConsumerConfig({other: value for other, value in REQUIRED.items() if other != key})


def test_settings_that_contradict_each_other_are_refused() -> None:
    """The socket time-out must exceed the fetch wait, and the growth limit the fetch size."""
    with pytest.raises(ConfigError, match=r"socket.timeout.ms is 50.*fetch.wait.max.ms \(100\)"):
        config(socket_timeout_ms=50)
    with pytest.raises(ConfigError, match=r"fetch.message.growth.max.bytes is 10"):
        config(fetch_message_growth_max_bytes=10)


@pytest.mark.parametrize("props", [["group.id=g"], "group.id=g", [], 1])
def test_settings_must_be_a_map(props: object) -> None:
    """The error shows an example of a map."""
    with pytest.raises(ConfigError, match=r"settings .*: give a map such as \{'group.id': 'g'\}"):
        ConsumerConfig(props)  # type: ignore[arg-type]


def test_a_value_of_the_wrong_type_gets_its_own_error() -> None:
    """For the number 7 the error says that a text is needed, not which characters are allowed."""
    with pytest.raises(ConfigError, match=r"group.id is 7: it must be a text: letters, digits"):
        config(group_id=7)


def test_a_key_must_be_text() -> None:
    """A key that is not a string is refused."""
    with pytest.raises(ConfigError, match="setting 1"):
        ConsumerConfig({**REQUIRED, 1: "x"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("props", "settings", "message"),
    [
        ({}, {"auto_offst_reset": "smallest"}, "setting auto_offst_reset: did you mean auto_offs"),
        (
            {"auto.offst.reset": "smallest"},
            {},
            "setting auto.offst.reset: did you mean auto",
        ),
        ({}, {"bogus_key": 1}, "there is no setting bogus_key"),
        ({}, {"bogus_key": None}, "there is no setting bogus_key"),
    ],
)
def test_what_a_program_misspelt_is_refused(
    props: dict[str, object], settings: dict[str, Any], message: str
) -> None:
    """The error suggests the nearest name; otherwise a default would apply silently."""
    with pytest.raises(ConfigError, match=re.escape(message)):
        ConsumerConfig({**REQUIRED, **props}, **settings)


def test_a_map_may_use_dots_or_underscores() -> None:
    """Keys may be spelled with underscores, as in the poll API."""
    assert ConsumerConfig({**REQUIRED, "consumer_id": "x"}).consumer_id == "x"


def test_external_settings_are_allowed() -> None:
    """Settings with the original's prefix "external." are ignored."""
    ConsumerConfig({**REQUIRED, "external.foo": 1}, external_bar=2)  # type: ignore[call-arg]


def test_an_unknown_setting_of_a_file_is_warned_about_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Unknown settings of a file are logged with the nearest name, as in the original.

    An unknown keyword argument beside the file is refused all the same.
    """
    props = {**REQUIRED, "fetch.size": "1", "consumer_id": "x", "external.foo": "1"}
    with caplog.at_level(logging.WARNING):
        found = ConsumerConfig.from_properties(props, fetch_min_bytes=7)
    assert found.fetch_min_bytes == 7
    assert sorted(record.getMessage() for record in caplog.records) == [
        "setting 'consumer_id' is not known and is ignored: did you mean consumer.id?",
        "setting 'fetch.size' is not known and is ignored: did you mean fetch.min.bytes?",
    ]
    with pytest.raises(ConfigError, match="there is no setting fetch_min_byte: did you mean"):
        ConsumerConfig.from_properties(REQUIRED, fetch_min_byte=7)  # type: ignore[call-arg]


def test_a_setting_without_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Files for the original may contain such settings, so it is no warning."""
    with caplog.at_level(logging.INFO):
        found = config(kafka_metrics_reporters="com.example.Reporter")
    assert found.kafka_metrics_reporters == "com.example.Reporter"
    (record,) = caplog.records
    assert record.levelno == logging.INFO
    assert "kafka.metrics.reporters is accepted but has no effect" in record.getMessage()


def test_a_configuration_is_frozen() -> None:
    """No attribute can be set or added; equal settings are equal and pickle as such."""
    found = config()
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.group_id = "other"  # type: ignore[misc]
    with pytest.raises((AttributeError, TypeError)):
        found.brand_new = 1  # type: ignore[attr-defined]
    assert found == config()
    assert hash(found) == hash(config())
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_configuration_can_be_replaced_in_part() -> None:
    """``dataclasses.replace`` checks the copy like a new configuration."""
    changed = dataclasses.replace(config(), fetch_min_bytes=5)
    assert changed.fetch_min_bytes == 5
    assert changed.zookeeper_connect == REQUIRED["zookeeper.connect"]
    with pytest.raises(ConfigError, match=r"fetch\.min\.bytes"):
        dataclasses.replace(config(), fetch_min_bytes=-5)


def test_a_properties_file_can_be_read(tmp_path: Path) -> None:
    """A properties file is parsed in all its notations; keyword arguments override it."""
    path = tmp_path / "consumer.properties"
    path.write_bytes(b"# mine\nzookeeper.connect = h:1\ngroup.id: g\nfetch.min.bytes 3\n")
    found = ConsumerConfig.from_file(path, fetch_min_bytes=4)
    assert (found.zookeeper_connect, found.group_id, found.fetch_min_bytes) == ("h:1", "g", 4)


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    """The error names a file that is missing, a folder or malformed."""
    with pytest.raises(ConfigError, match=r"missing\.properties: No such file"):
        ConsumerConfig.from_file(tmp_path / "missing.properties")
    with pytest.raises(ConfigError, match=r"cannot read"):
        ConsumerConfig.from_file(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot read"):
        ConsumerConfig.from_file("\x00")
    bad = tmp_path / "bad.properties"
    bad.write_bytes(b"a=\\u00")
    with pytest.raises(ConfigError, match=r"bad\.properties: malformed"):
        ConsumerConfig.from_file(bad)


def test_an_explicit_fetch_size_is_also_the_catch_up_size() -> None:
    """A fetch size that is set, even to its default, is not exceeded unless that is set, too."""

    def catching_up(**given: Any) -> int:
        config = ConsumerConfig(None, zookeeper_connect="h:2181", group_id="g", **given)
        return config.fetch_message_catch_up_max_bytes

    assert catching_up() == 4_194_304
    assert catching_up(fetch_message_max_bytes=1_048_576) == 1_048_576
    assert catching_up(fetch_message_max_bytes=5, fetch_message_catch_up_max_bytes=7) == 7
    with pytest.raises(ConfigError, match="is 4: it must be at least"):
        catching_up(fetch_message_max_bytes=5, fetch_message_catch_up_max_bytes=4)
