"""Settings of kafka-python and Java that are accepted without effect, so that programs still run.

A setting that would be dangerous to ignore is refused instead.
"""

from zkconsumer.config_spec import ConfigKey, Value

_VERSION = (
    'Versions are negotiated; `config["api_version"]` is the broker release found when the '
    "consumer was created, such as `(2, 8)`. A consumer with a given version connects at its first "
    "use, not when it is created, as in kafka-python."
)
_IDLE = (
    "A connection that the broker closed is reopened when it is needed. Must be more than "
    "`request_timeout_ms` if both are given, as in kafka-python."
)


def _inert(key: str, doc: str, since: str = "kafka-python", default: Value = None) -> ConfigKey:
    return ConfigKey(key=key, kind="text", doc=doc, since=since, default=default, inert=True)


INERT: tuple[ConfigKey, ...] = (
    _inert("api.version", _VERSION),
    _inert("api.version.auto.timeout.ms", "See `bootstrap_timeout_ms`.", default=2_000),
    _inert("reconnect.backoff.ms", "See `retry_backoff_ms`.", "0.9.0", 50),
    _inert("reconnect.backoff.max.ms", "See `retry_backoff_max_ms`.", "0.11.0", 30_000),
    _inert("socket.connection.setup.timeout.max.ms", "Time-outs don't grow.", "2.7.0"),
    _inert("connections.max.idle.ms", _IDLE, "0.9.0", 540_000),
    _inert(
        "max.in.flight.requests.per.connection",
        "The client decides the order of requests.",
        default=5,
    ),
    _inert("send.buffer.bytes", "A consumer sends little.", "0.9.0"),
    _inert("socket.options", "Sockets use TCP_NODELAY and keep-alive."),
    _inert("client.dns.lookup", "All addresses of a name are tried.", "2.1.0", "use_all_dns_ips"),
    _inert("sock.chunk.bytes", "Responses are read whole.", default=4_096),
    _inert("sock.chunk.buffer.count", "As above.", default=1_000),
    _inert("legacy.iterator", "There is one iterator.", default=False),
    _inert("metric.reporters", "`metrics()` returns the numbers.", "0.9.0"),
    _inert("selector", "Threads block on their sockets here."),
    _inert("net", "As above."),
    _inert("kafka.client", "As above."),
)

REFUSED = {
    "proxy.url": "connections go straight to the brokers",
    "socks5.proxy": "connections go straight to the brokers",
    "sasl.kerberos.name": "give sasl_kerberos_service_name and sasl_kerberos_domain_name",
}
"""Settings that decide where a program connects, or whom it trusts, and a hint for the error."""
