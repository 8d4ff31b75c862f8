"""Settings of kafka-python and of Java that are taken without effect: programs go on as they are.

What would weaken a program if it were passed over in silence is not here: it is refused.
"""

from zkconsumer.config_spec import ConfigKey, Value

_VERSION = (
    'Versions are asked for; `config["api_version"]` is the release that was found when the '
    "consumer was made, `(2, 8)` say. A consumer that is given one connects when it is used, not "
    "when it is made, as in kafka-python."
)
_IDLE = (
    "A connection that the broker closed is opened again when it is needed. More than "
    "`request_timeout_ms` where both are given, as in kafka-python."
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
    _inert("max.in.flight.requests.per.connection", "The order of requests is ours.", default=5),
    _inert("send.buffer.bytes", "A consumer sends little.", "0.9.0"),
    _inert("socket.options", "Sockets don't delay, and are kept alive."),
    _inert("client.dns.lookup", "All addresses of a name are tried.", "2.1.0", "use_all_dns_ips"),
    _inert("sock.chunk.bytes", "Answers are read whole.", default=4_096),
    _inert("sock.chunk.buffer.count", "As above.", default=1_000),
    _inert("legacy.iterator", "There is one iterator.", default=False),
    _inert("metric.reporters", "`metrics()` gives the numbers.", "0.9.0"),
    _inert("selector", "Threads wait in sockets here."),
    _inert("net", "As above."),
    _inert("kafka.client", "As above."),
)

REFUSED = {
    "proxy.url": "connections go straight to the brokers",
    "socks5.proxy": "connections go straight to the brokers",
    "sasl.kerberos.name": "give sasl_kerberos_service_name and sasl_kerberos_domain_name",
}
"""What would change where a program connects, or whom it believes; and why it can't be."""
