"""Settings of kafka-python and of Java that are taken without effect: programs go on as they are.

What would weaken a program if it were passed over in silence is not here: it is refused.
"""

from zkconsumer.config_spec import ConfigKey

_NEGOTIATED = "Connections are made when they are needed, and versions are asked for."
_IDLE = "A connection that the broker closed is opened again when it is needed."


def _inert(key: str, doc: str, since: str = "kafka-python") -> ConfigKey:
    return ConfigKey(key=key, kind="text", doc=doc, since=since, inert=True)


INERT: tuple[ConfigKey, ...] = (
    _inert("api.version", _NEGOTIATED),
    _inert("api.version.auto.timeout.ms", _NEGOTIATED),
    _inert("bootstrap.timeout.ms", _NEGOTIATED),
    _inert("reconnect.backoff.ms", "See `retry_backoff_ms`.", "0.9.0"),
    _inert("reconnect.backoff.max.ms", "See `retry_backoff_max_ms`.", "0.11.0"),
    _inert("socket.connection.setup.timeout.max.ms", "Time-outs don't grow.", "2.7.0"),
    _inert("connections.max.idle.ms", _IDLE, "0.9.0"),
    _inert("max.in.flight.requests.per.connection", "The order of requests is ours."),
    _inert("send.buffer.bytes", "A consumer sends little.", "0.9.0"),
    _inert("socket.options", "Sockets don't delay, and are kept alive."),
    _inert("client.dns.lookup", "All addresses of a name are tried.", "2.1.0"),
    _inert("metric.reporters", "`metrics()` gives the numbers.", "0.9.0"),
    _inert("metrics.enabled", "They cost next to nothing."),
    _inert("metrics.num.samples", "`metrics()` counts from the start.", "0.9.0"),
    _inert("metrics.sample.window.ms", "As above.", "0.9.0"),
    _inert("metric.group.prefix", "Groups are called as in kafka-python."),
    _inert("selector", "Threads wait in sockets here."),
    _inert("net", "As above."),
    _inert("kafka.client", "As above."),
)

REFUSED = {
    "proxy.url": "connections go straight to the brokers",
    "socks5.proxy": "connections go straight to the brokers",
    "sasl.kerberos.name": "of SASL there are PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512",
    "sasl.kerberos.service.name": "of SASL there are PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512",
    "sasl.kerberos.domain.name": "of SASL there are PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512",
}
"""What would change where, or as whom, a program connects; and why it can't be."""
