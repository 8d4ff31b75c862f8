"""The constructor's settings: accepted ones, refused ones, and the resulting configuration."""

import logging
from typing import Any, ClassVar

from tests.alike.casebook import case
from tests.alike.scene import Scene
from tests.alike.stage import LETTERS

NOBODY = "127.0.0.1:1"


def _first_value(s: Scene, **settings: Any) -> object:
    """Return the first value that a consumer with these settings reads."""
    return s.values(s.assigned(LETTERS, 1, **settings), 5)[0]


def _takes(what: str, **settings: Any) -> None:
    """Register a case: reading with these settings works."""
    case(f"taken: {what}")(lambda s: _first_value(s, **settings))


def _refuses(what: str, **settings: Any) -> None:
    """Register a case: whether the constructor accepts these settings."""
    case(f"made with {what}")(lambda s: s.attempt(lambda: bool(s.consumer(**settings))))


_refuses("an unknown setting", no_such_setting=1)
_refuses("a misspelt setting", bootstrap_server="x")
_refuses("no reachable broker", bootstrap_servers=NOBODY, bootstrap_timeout_ms=400)
_refuses("an unknown host", bootstrap_servers="no-such-host.invalid:9092", bootstrap_timeout_ms=400)
_refuses(
    "a fetch that waits longer than a request", fetch_max_wait_ms=50000, request_timeout_ms=40000
)
_refuses(
    "a request that lasts longer than a connection",
    request_timeout_ms=50000,
    connections_max_idle_ms=40000,
)
_refuses("a session longer than a request", group_id="g", session_timeout_ms=50000)
_refuses("a heartbeat longer than a session", group_id="g", heartbeat_interval_ms=60000)
_refuses("a poll interval shorter than a session", group_id="g", max_poll_interval_ms=1000)
_refuses("an instance without a group", group_instance_id="i")
_refuses("an offset reset none", auto_offset_reset="none")
_refuses("an invalid isolation level", isolation_level="read_something")
_refuses("no strategy", group_id="g", partition_assignment_strategy=[])

_takes("group_id=''", group_id="")
_takes("group_id=None", group_id=None)
_takes("auto_offset_reset='smallest'", auto_offset_reset="smallest")
_takes("enable_auto_commit=1", enable_auto_commit=1)
_takes("enable_auto_commit=0", enable_auto_commit=0)
_takes("times that are floats", request_timeout_ms=30000.0, fetch_max_wait_ms=100.0)
_takes("max_poll_records that is larger", max_poll_records=100_000)
_takes("consumer_timeout_ms=inf", consumer_timeout_ms=float("inf"))
_takes("consumer_timeout_ms that is a float", consumer_timeout_ms=1000.5)
_takes("api_version", api_version=(2, 0))
_takes("api_version_auto_timeout_ms's successor", bootstrap_timeout_ms=5000)
_takes("reconnects", reconnect_backoff_ms=10, reconnect_backoff_max_ms=1000)
_takes("max_in_flight_requests_per_connection", max_in_flight_requests_per_connection=1)
_takes("buffers", receive_buffer_bytes=None, send_buffer_bytes=131072)
_takes("socket_options", socket_options=[])
_takes("receive_message_max_bytes", receive_message_max_bytes=200_000_000)
_takes("check_crcs=False", check_crcs=False)
_takes("connections_max_idle_ms", connections_max_idle_ms=600_000)
_takes("metadata_max_age_ms", metadata_max_age_ms=1000)
_takes("retry_backoff_ms", retry_backoff_ms=10)
_takes("metrics_enabled=False", metrics_enabled=False)
_takes("metrics' windows", metrics_num_samples=3, metrics_sample_window_ms=1000)
_takes("metric_group_prefix", metric_group_prefix="mine")
_takes("metric_reporters", metric_reporters=[])
_takes("client_rack", client_rack="r1")
_takes("client_id", client_id="my-program")
_takes("client_id with odd letters", client_id="mein Prögramm/1")
_takes("a group's settings without a group", session_timeout_ms=20000, heartbeat_interval_ms=5000)
_takes("fetch_min_bytes and fetch_max_bytes", fetch_min_bytes=10, fetch_max_bytes=100)
_takes("max_partition_fetch_bytes", max_partition_fetch_bytes=64)
_takes("enable_incremental_fetch_sessions=False", enable_incremental_fetch_sessions=False)
_takes("exclude_internal_topics", exclude_internal_topics=False)
_takes("allow_auto_create_topics", allow_auto_create_topics=False)
_takes("TLS's settings without TLS", ssl_check_hostname=False, ssl_password="x", ssl_ciphers=None)
_takes("SASL's user without SASL", sasl_plain_username="u", sasl_plain_password="p")
_takes("sasl_kerberos_service_name without GSSAPI", sasl_kerberos_service_name="kafka")
_takes("isolation_level", isolation_level="read_committed")
_takes("client_dns_lookup", client_dns_lookup="use_all_dns_ips")


def _each_refused(s: Scene, *settings: dict[str, Any]) -> object:
    return s.attempts(
        lambda item=setting: bool(s.consumer(bootstrap_timeout_ms=400, **item))  # type: ignore[misc]
        for setting in settings
    )


@case("made with invalid values")
def _(s: Scene) -> object:
    return _each_refused(
        s,
        {"group_id": "g", "group_instance_id": "a b"},
        {"group_id": "g", "group_instance_id": ""},
        {"auto_offset_reset": "middle"},
        {"max_poll_records": -1},
        {"security_protocol": "TELEPATHY"},
    )


@case("made with unusable security")
def _(s: Scene) -> object:
    sasl = {"security_protocol": "SASL_PLAINTEXT"}
    return _each_refused(
        s,
        sasl,
        {**sasl, "sasl_mechanism": "TELEPATHY"},
        {**sasl, "sasl_mechanism": "PLAIN"},
        {"security_protocol": "SSL", "ssl_cafile": "/no/such/file"},
    )


@case("taken: brokers as a list, one of them dead")
def _(s: Scene) -> object:
    return _first_value(s, bootstrap_servers=[NOBODY, s.bootstrap])


@case("taken: brokers as a tuple")
def _(s: Scene) -> object:
    return _first_value(s, bootstrap_servers=(s.bootstrap,))


@case("taken: brokers in one text")
def _(s: Scene) -> object:
    return _first_value(s, bootstrap_servers=f"{NOBODY}, {s.bootstrap}")


@case("taken: a broker with its protocol")
def _(s: Scene) -> object:
    return _first_value(s, bootstrap_servers=f"PLAINTEXT://{s.bootstrap}")


@case("made with invalid broker addresses")
def _(s: Scene) -> object:
    return s.attempt(
        lambda: bool(s.consumer(bootstrap_servers=[1, None], bootstrap_timeout_ms=400))
    )


@case("config is a mapping")
def _(s: Scene) -> object:
    config = s.consumer(group_id="g").config
    return [
        config["group_id"],
        config.get("client_rack"),
        "max_poll_records" in config,
        config.get("no_such_setting"),
        s.attempt(lambda: config["no_such_setting"]),
        len(dict(config)) > 50,
    ]


def _default(name: str) -> None:
    @case(f"config's {name} by default")
    def _(s: Scene) -> object:
        return s.consumer().config[name]


for _name in (
    "group_id", "group_instance_id", "fetch_max_wait_ms", "fetch_min_bytes", "fetch_max_bytes",
    "max_partition_fetch_bytes", "request_timeout_ms", "retry_backoff_ms", "auto_offset_reset",
    "enable_auto_commit", "auto_commit_interval_ms", "check_crcs", "isolation_level",
    "allow_auto_create_topics", "metadata_max_age_ms", "max_poll_records",
    "max_poll_interval_ms", "heartbeat_interval_ms", "consumer_timeout_ms", "security_protocol",
    "exclude_internal_topics", "key_deserializer", "value_deserializer", "client_rack",
    "connections_max_idle_ms", "reconnect_backoff_ms", "sasl_mechanism", "ssl_check_hostname",
):  # fmt: skip
    _default(_name)


@case("config's session_timeout_ms on this broker")
def _(s: Scene) -> object:
    return s.consumer(group_id="g").config["session_timeout_ms"]


@case("config's api_version is what was found")
def _(s: Scene) -> object:
    return s.consumer().config["api_version"]


@case("config tells what was given")
def _(s: Scene) -> object:
    config = s.consumer(group_id="g", max_poll_records=7, auto_offset_reset="smallest").config
    return [config["max_poll_records"], config["auto_offset_reset"]]


@case("config has every name of DEFAULT_CONFIG")
def _(s: Scene) -> object:
    return sorted(set(s.lib.KafkaConsumer.DEFAULT_CONFIG) - set(s.consumer().config))


@case("DEFAULT_CONFIG knows settings")
def _(s: Scene) -> object:
    defaults = s.lib.KafkaConsumer.DEFAULT_CONFIG
    names = ("group_id", "max_poll_records", "enable_auto_commit", "fetch_max_wait_ms")
    return [defaults[name] for name in names]


@case("DEFAULT_CONFIG filters a program's own settings")
def _(s: Scene) -> object:
    mine = {"group_id": "g", "debug": True, "bootstrap_servers": s.bootstrap}
    known = {key: mine[key] for key in mine if key in s.lib.KafkaConsumer.DEFAULT_CONFIG}
    return s.consumer(**known).config["group_id"]


@case("a metrics reporter is created and gets metrics")
def _(s: Scene) -> object:
    made: list[str] = []

    class Reporter:
        def __init__(self) -> None:
            made.append("made")

        def init(self, _metrics: object) -> None:
            made.append("init")

        def configure(self, configs: object) -> None: ...

        def metric_change(self, metric: object) -> None: ...

        def metric_removal(self, metric: object) -> None: ...

        def close(self) -> None:
            made.append("close")

    consumer = s.consumer(metric_reporters=[Reporter])
    consumer.close()
    return made


@case("topics in the constructor")
def _(s: Scene) -> object:
    return s.consumer("a", "b").subscription()


@case("no topics in the constructor")
def _(s: Scene) -> object:
    return s.consumer().subscription()


@case("a list as the constructor's topic")
def _(s: Scene) -> object:
    return s.attempt(lambda: s.consumer(["a", "b"]).subscription())


@case("an invalid topic in the constructor")
def _(s: Scene) -> object:
    return s.attempts(
        lambda topic=topic: s.consumer(topic).subscription()  # type: ignore[misc]
        for topic in ("a b", "", "..", "x" * 250, None, 3, b"bytes")
    )


@case("a subclass with settings of its own")
def _(s: Scene) -> object:
    class Mine(s.lib.KafkaConsumer):  # type: ignore[misc, name-defined]
        DEFAULT_CONFIG: ClassVar[Any] = {
            **s.lib.KafkaConsumer.DEFAULT_CONFIG,
            "max_poll_records": 3,
        }

        def poll(self, *arguments: Any, **named: Any) -> Any:
            return super().poll(*arguments, **named)

    with Mine(bootstrap_servers=s.bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([s.tp(LETTERS)])
        return [consumer.config["max_poll_records"], len(s.read(consumer, 1))]


@case("loggers are called like the modules")
def _(s: Scene) -> object:
    s.consumer()
    return bool([name for name in logging.root.manager.loggerDict if name.startswith(s.lib.name)])
