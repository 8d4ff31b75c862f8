import ssl
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest

from zkconsumer.config_keys import BY_KEY
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.settings.confluent_names import KEYS
from zkconsumer.consumer.settings.inert_keys import INERT, REFUSED
from zkconsumer.errors import ConfigError, KafkaConfigurationError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.consumer_record import consumer_record

TP = TopicPartition("t", 0)
FETCH_SIZES = ("max_partition_fetch_bytes", "fetch_message_catch_up_max_bytes")


def unchecked(**settings: Any) -> PollConfig:
    """Build a configuration with settings that no type checker has seen."""
    return PollConfig(None, **settings)


def test_defaults_are_those_of_kafka_python_and_java() -> None:
    """No setting is required, and the defaults are kafka-python's and Java's."""
    found = PollConfig()
    assert found.bootstrap_brokers() == (Broker(-1, "localhost", 9092),)
    assert found.group_id is None
    assert found.auto_offset_reset == "latest"
    assert found.enable_auto_commit is True
    assert found.auto_commit_interval_ms == 5_000
    assert found.session_timeout_ms == 45_000
    assert found.heartbeat_interval_ms == 3_000
    assert found.max_poll_interval_ms == 300_000
    assert found.max_poll_records == 500
    assert found.fetch_max_bytes == 52_428_800
    assert found.max_partition_fetch_bytes == 1_048_576
    assert found.isolation_level == "read_uncommitted"
    assert found.strategies == ("range", "cooperative-sticky")
    assert found.allow_auto_create_topics is True
    assert found.consumer_timeout_ms == -1


def test_keys_may_have_dots_in_a_map() -> None:
    """Keyword arguments have underscores and override the map; None counts as not given."""
    found = PollConfig({"group.id": "a", "max_poll_records": "7"}, group_id="b", client_id=None)
    assert (found.group_id, found.max_poll_records, found.client_id) == ("b", 7, "zkconsumer")
    with pytest.raises(ConfigError, match=r"write fetch_min_bytes=\.\.\., or config=\{"):
        unchecked(**{"fetch.min.bytes": 3})


@pytest.mark.parametrize(
    ("given", "brokers"),
    [
        ("h", (Broker(-1, "h", 9092),)),
        ("h:1, g:2", (Broker(-1, "h", 1), Broker(-2, "g", 2))),
        (["h:1", "g"], (Broker(-1, "h", 1), Broker(-2, "g", 9092))),
        ("PLAINTEXT://h:1,SASL_SSL://g", (Broker(-1, "h", 1), Broker(-2, "g", 9092))),
        (["INTERNAL://h:1", "g:2"], (Broker(-1, "h", 1), Broker(-2, "g", 2))),
        ("::1, h:1", (Broker(-1, "::1", 9092), Broker(-2, "h", 1))),
        (("[::1]:9", "[fe80::1%eth0]"), (Broker(-1, "::1", 9), Broker(-2, "fe80::1%eth0", 9092))),
    ],
)
def test_bootstrap_servers_are_a_string_or_a_list(given: Any, brokers: tuple[Broker, ...]) -> None:
    """Negative ids mean that only the address is known."""
    assert PollConfig(bootstrap_servers=given).bootstrap_brokers() == brokers


@pytest.mark.parametrize(
    "given", ["", ",", "a b", "h:x", "h:0", "h:70000", "SSL://", 7, [], ["a,b"], [3]]
)
def test_invalid_bootstrap_servers_are_refused(given: Any) -> None:
    """The error names the setting and the range of ports."""
    with pytest.raises(ConfigError, match=r"bootstrap.servers is .* from 1 to 65535"):
        PollConfig(bootstrap_servers=given)


class TheirLevel(IntEnum):
    """An ``IsolationLevel`` like kafka-python's."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


def test_values_of_older_consumers_are_accepted() -> None:
    """kafka-python accepts them as well."""
    assert PollConfig(auto_offset_reset="smallest").auto_offset_reset == "earliest"
    assert unchecked(auto_offset_reset="LARGEST").auto_offset_reset == "latest"
    assert PollConfig(isolation_level=TheirLevel.READ_COMMITTED).isolation_level == "read_committed"
    assert PollConfig(consumer_timeout_ms=float("inf")).consumer_timeout_ms == -1
    assert PollConfig(consumer_timeout_ms=1000.0).consumer_timeout_ms == 1000


def test_strategies_are_names_or_assignor_classes() -> None:
    """kafka-python's assignor classes have a ``name``."""

    class Sticky:
        name = "sticky"

    found = PollConfig(partition_assignment_strategy=[Sticky, "range"])
    assert found.strategies == ("sticky", "range")
    assert PollConfig(partition_assignment_strategy="roundrobin").strategies == ("roundrobin",)
    for wrong in (["rang"], [], "", ["range", "range"], [object]):
        with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy"):
            PollConfig(partition_assignment_strategy=wrong)


def test_an_unknown_setting_is_refused_with_the_nearest_one() -> None:
    """A misspelt setting must not be ignored silently."""
    with pytest.raises(ConfigError, match="no setting bootstrap_server: did you mean bootstrap_se"):
        unchecked(bootstrap_server="h")
    with pytest.raises(ConfigError, match="did you mean value_deserializer"):
        unchecked(value_deserialiser=bytes.decode)
    with pytest.raises(ConfigError, match=r"no setting xyzzy$"):
        unchecked(xyzzy=1)
    with pytest.raises(ConfigError, match="a key is a text"):
        PollConfig({1: 2})  # type: ignore[dict-item]
    with pytest.raises(ConfigError, match="give a map"):
        PollConfig("group.id=g")  # type: ignore[arg-type]


def test_settings_without_effect_are_accepted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Programs for kafka-python work unchanged, whatever the values of such settings."""
    with caplog.at_level("DEBUG"):
        PollConfig(api_version=(0, 10), metric_reporters=[object], selector=object, net=-1)
    assert caplog.messages == [
        "settings that are accepted but have no effect here: api_version, metric_reporters, "
        "selector, net"
    ]
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


def test_every_setting_that_only_tunes_kafka_python_is_accepted() -> None:
    """Their values are not read, so none can be wrong."""
    given = {spec.attribute: object() for spec in INERT}
    config = unchecked(**given)
    assert {name: config[name] for name in given} == given


def test_the_kerberos_service_name_defaults_as_in_kafka_python() -> None:
    """The default exists even if Kerberos is not used."""
    assert PollConfig().sasl_kerberos_service_name == "kafka"
    config = PollConfig(sasl_kerberos_service_name="k", sasl_kerberos_domain_name="d.example")
    assert (config.sasl_kerberos_service_name, config["sasl_kerberos_domain_name"]) == (
        "k",
        "d.example",
    )


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_a_setting_that_would_change_the_peer_is_refused(key: str) -> None:
    """Ignoring such a setting silently would be dangerous."""
    with pytest.raises(ConfigError, match="can't be used"):
        unchecked(**{key.replace(".", "_"): "x"})


def test_settings_must_fit_together() -> None:
    """The error names both settings that contradict each other."""
    with pytest.raises(ConfigError, match=r"heartbeat_interval_ms is 3000.*session_timeout_ms"):
        PollConfig(session_timeout_ms=3000)
    with pytest.raises(ConfigError, match=r"fetch_max_wait_ms is 500.*request_timeout_ms"):
        PollConfig(request_timeout_ms=500)
    with pytest.raises(ConfigError, match=r"max_partition_fetch_bytes.*growth"):
        PollConfig(max_partition_fetch_bytes=10, fetch_message_growth_max_bytes=9)
    with pytest.raises(ConfigError, match="group_instance_id needs group_id"):
        PollConfig(group_instance_id="one")
    assert PollConfig(max_partition_fetch_bytes=200_000_000).fetch_message_growth_max_bytes == (
        200_000_000
    )


def test_an_explicit_fetch_size_is_also_the_catch_up_size() -> None:
    """It is not exceeded even if it equals the default or was copied from another configuration."""

    def catching_up(**given: Any) -> int:
        return PollConfig(None, **given).fetch_message_catch_up_max_bytes

    assert catching_up() == 4_194_304
    assert catching_up(max_partition_fetch_bytes=1_048_576) == 1_048_576
    assert catching_up(max_partition_fetch_bytes=8_388_608) == 8_388_608
    assert catching_up(max_partition_fetch_bytes=5, fetch_message_catch_up_max_bytes=7) == 7
    copied = {name: PollConfig()[name] for name in FETCH_SIZES}
    assert catching_up(**copied) == 1_048_576
    assert catching_up(**copied | {"max_partition_fetch_bytes": 8_388_608}) == 8_388_608
    chosen = PollConfig(fetch_message_catch_up_max_bytes=2_000_000)
    assert catching_up(**{name: chosen[name] for name in FETCH_SIZES}) == 2_000_000
    with pytest.raises(ConfigError, match=r"max_partition_fetch_bytes is 5: .*at most"):
        catching_up(max_partition_fetch_bytes=5, fetch_message_catch_up_max_bytes=4)


@pytest.mark.parametrize("name", ["\ud800", "x" * 32_768, "ü" * 16_384])
def test_a_group_id_too_long_for_a_request_is_refused(name: str) -> None:
    """Otherwise the lookup of its coordinator would fail silently for ever."""
    with pytest.raises(ConfigError, match="32767 bytes in UTF-8") as refused:
        unchecked(group_id=name)
    assert len(str(refused.value)) < 300


def test_zookeeper_settings_need_zookeeper() -> None:
    """With ``zookeeper_connect`` they are kept for the ZooKeeper group."""
    found = PollConfig(zookeeper_connect="z", group_id="g", zookeeper_session_timeout_ms=900)
    assert found.zookeeper == {"zookeeper.session.timeout.ms": 900}
    with pytest.raises(ConfigError, match=r"zookeeper_session_timeout_ms.*give zookeeper_connect"):
        PollConfig(zookeeper_session_timeout_ms=900)
    with pytest.raises(ConfigError, match="zookeeper_connect needs group_id"):
        PollConfig(zookeeper_connect="z")
    with pytest.raises(ConfigError, match="bootstrap_servers can't be used"):
        PollConfig(zookeeper_connect="z", group_id="g", bootstrap_servers="h")


def test_passwords_are_not_shown() -> None:
    """A configuration may be logged, so its text hides passwords."""
    shown = repr(PollConfig(sasl_plain_password="secret", ssl_password="secret2"))
    assert "secret" not in shown


class OldJson:
    """A deserialiser as of kafka-python 2."""

    def deserialize(self, topic: str, data: bytes) -> str:
        """Take the topic and the data."""
        return f"{topic} {data.decode()}"


class NewJson:
    """A deserialiser as of kafka-python 3."""

    closed = 0

    def deserialize(self, topic: str, headers: list[Any], data: bytes) -> str:
        """Take the headers in between."""
        return f"{topic} {headers} {data.decode()}"

    def close(self) -> None:
        """Record that the consumer closed it."""
        self.closed += 1


@pytest.mark.parametrize(
    ("given", "made"),
    [(None, b"v"), (bytes.decode, "v"), (OldJson(), "t v"), (NewJson(), "t [] v")],
)
def test_deserialisers_are_functions_or_objects(given: Any, made: object) -> None:
    """Deserialisers of either kafka-python work, and are not called for null."""
    origin = PollConfig(value_deserializer=given, key_deserializer=given).objects.origin_of(TP)
    record = consumer_record(origin, (0, None, b"v", -1, -1), (), -1)
    assert (record.value, record.key) == (made, None)


def test_deserialisers_are_closed() -> None:
    """Closing calls their ``close`` if they have one."""
    deserializer = NewJson()
    PollConfig(value_deserializer=deserializer, key_deserializer=bytes.decode).objects.close()
    assert deserializer.closed == 1


@pytest.mark.parametrize(
    "name",
    ["key_deserializer", "value_deserializer", "ssl_context", "default_offset_commit_callback"],
)
def test_objects_of_the_wrong_type_are_refused(name: str) -> None:
    """The error says what may be given."""
    with pytest.raises(ConfigError, match=f"{name} is 'x': give"):
        unchecked(**{name: "x"})


def test_an_ssl_context_is_used_as_it_is() -> None:
    """The context of the caller is not modified or replaced."""
    context = ssl.create_default_context()
    assert PollConfig(ssl_context=context).objects.ssl_context is context


def test_settings_of_a_file_may_be_strings(tmp_path: Path) -> None:
    """The lines of a properties file can be passed as a map of strings."""
    lines = "group.id=g\nenable.auto.commit=false\n"
    (tmp_path / "c.properties").write_text(lines)
    texts = dict(line.split("=") for line in lines.splitlines())
    assert PollConfig(texts).enable_auto_commit is False


def test_settings_can_be_read_by_key() -> None:
    """Programs for kafka-python read ``consumer.config`` like a dict."""
    config = PollConfig(group_id="g")
    assert (config["group_id"], config["max_poll_records"]) == ("g", 500)
    with pytest.raises(KeyError, match="strategies"):
        config["strategies"]


def test_booleans_may_be_numbers_or_strings() -> None:
    """As in kafka-python, and as files have them."""
    for given, expected in ((1, True), (0, False), (1.0, True), ("false", False)):
        assert unchecked(enable_auto_commit=given).enable_auto_commit is expected
    with pytest.raises(ConfigError, match=r"enable\.auto\.commit is 'maybe'"):
        unchecked(enable_auto_commit="maybe")


def test_times_may_be_floats() -> None:
    """Times are rounded up, so that none ends early; other numbers must be integers."""
    config = PollConfig(
        auto_commit_interval_ms=99.5, request_timeout_ms=5e3, max_poll_interval_ms=float("inf")
    )
    assert config.auto_commit_interval_ms == 100
    assert config.request_timeout_ms == 5_000
    assert config.max_poll_interval_ms == 2**31 - 1
    for name, wrong in (
        ("max_poll_records", 1.5),
        ("retry_backoff_ms", float("nan")),
        ("retry_backoff_ms", -0.5),
    ):
        with pytest.raises(ConfigError, match=name.replace("_", r"\.")):
            unchecked(**{name: wrong})


def test_an_empty_group_id_is_a_group() -> None:
    """As in kafka-python, brokers decide whether to accept it; ZooKeeper groups need a name."""
    assert PollConfig(group_id="").group_id == ""
    assert PollConfig(group_id=None).group_id is None
    with pytest.raises(ConfigError, match="a group in ZooKeeper needs a name"):
        PollConfig(group_id="", zookeeper_connect="z")


def test_a_configuration_is_a_mapping() -> None:
    """It has kafka-python's names and ours, with the given values of settings without effect."""
    config = PollConfig(group_id="g", selector=object, value_deserializer=bytes.decode)
    assert "group_id" in config
    assert "strategies" not in config
    assert config.get("nothing", 3) == 3
    assert dict(config)["selector"] is object
    assert config["value_deserializer"] == bytes.decode
    assert (config["reconnect_backoff_ms"], config["proxy_url"]) == (50, None)
    assert len(config) == len(list(config))
    # The settings of one consumer can configure another.
    assert dict(unchecked(**dict(config))) == dict(config)
    assert PollConfig(config) == config


def test_a_consumer_connects_at_once_unless_told_otherwise() -> None:
    """As in kafka-python, a given version or ``bootstrap_timeout_ms=0`` delays it."""
    assert PollConfig().connects_at_once
    assert PollConfig(api_version="auto").connects_at_once
    assert not PollConfig(api_version=(2, 0)).connects_at_once
    assert not PollConfig(bootstrap_timeout_ms=0).connects_at_once
    assert not PollConfig(zookeeper_connect="z", group_id="g").connects_at_once


def test_the_detected_version_is_added_to_a_copy() -> None:
    """The original configuration is not modified."""
    config = PollConfig(group_id="g", ssl_password="p", value_deserializer=bytes.decode)
    found = config.with_found((2, 8))
    assert (config["api_version"], found["api_version"]) == (None, (2, 8))
    assert dict(found) == {**config, "api_version": (2, 8)}
    assert found.inert == config.inert
    assert PollConfig(api_version="auto").with_found((0, 9))["api_version"] == (0, 9)


def test_a_given_version_is_kept() -> None:
    """It is not replaced by a detected one."""
    assert PollConfig(api_version=(2, 8, 2))["api_version"] == (2, 8, 2)
    assert PollConfig(bootstrap_timeout_ms=0)["api_version"] is None
    assert PollConfig(zookeeper_connect="z", group_id="g")["api_version"] is None


@pytest.mark.parametrize("release", [(0, 9), (0, 10, 0), (2, 8), (3, 9)])
def test_a_configuration_with_a_detected_version_can_be_reused(release: tuple[int, ...]) -> None:
    """Its settings are consistent for any version; the new consumer connects when it is used."""
    found = PollConfig(group_id="g", request_timeout_ms=40_000).with_found(release)
    again = unchecked(**dict(found))
    assert dict(again) == dict(found)
    assert not again.connects_at_once


@pytest.mark.parametrize(
    ("key", "here"), [("ssl.ca.location", "ssl_cafile"), ("sasl.username", "sasl_plain_username")]
)
def test_keys_of_confluent_kafka_are_refused_with_our_names(key: str, here: str) -> None:
    """In a map, and as keyword arguments."""
    with pytest.raises(ConfigError, match=f"no setting {key}: here it is called {here}"):
        PollConfig({key: "x"})
    with pytest.raises(ConfigError, match=f"{key} is not a keyword argument: write {here}="):
        unchecked(**{key: "x"})


def test_settings_of_zookeeper_groups_may_share_names_with_confluent_kafka() -> None:
    """Such a name is accepted for a ZooKeeper group; otherwise the error names the alternative."""
    for key in KEYS.keys() & BY_KEY.keys():
        name = key.replace(".", "_")
        found = unchecked(zookeeper_connect="z", group_id="g", **{name: 2_000_000})
        assert found.zookeeper == {key: 2_000_000}
        with pytest.raises(ConfigError, match=rf"{name} is a setting .* give zookeeper_connect"):
            PollConfig({key: 2_000_000})


def test_configuration_errors_are_those_of_kafka_python() -> None:
    """Errors of all its versions catch them."""
    for kind in (KafkaConfigurationError, ValueError, AssertionError):
        with pytest.raises(kind, match="did you mean group_id"):
            unchecked(gruop_id="g")


def test_contradictions_that_kafka_python_refuses_are_refused() -> None:
    """Even between settings without effect, if both are given."""
    with pytest.raises(KafkaConfigurationError, match="connections_max_idle_ms is 40000"):
        PollConfig(request_timeout_ms=50_000, connections_max_idle_ms=40_000)
    assert PollConfig(connections_max_idle_ms=1).request_timeout_ms == 30_000
    old = {"api_version": (0, 9), "group_id": "g", "request_timeout_ms": 40_000}
    with pytest.raises(KafkaConfigurationError, match="session_timeout_ms is 50000"):
        unchecked(**old, session_timeout_ms=50_000)
    assert unchecked(**old).session_timeout_ms == 45_000
    assert unchecked(**{**old, "api_version": (2, 0)}, session_timeout_ms=50_000)
