"""Lists all settings of a ``KafkaProducer`` that are strings, numbers or booleans. Pure.

The table in docs/produce.md is generated from it. Names and defaults are kafka-python's.
"""

from collections.abc import Mapping
from typing import Final

from zkconsumer.config_security import SECURITY_KEYS
from zkconsumer.config_spec import ConfigKey

KEYS: Final[tuple[ConfigKey, ...]] = (
    ConfigKey(
        "bootstrap.servers",
        "text",
        default="localhost:9092",
        legal_text="host1:port1,host2:port2, or a list of such",
        since="0.8.2",
        accepts="str | Sequence[str] | None",
    ).means("The brokers to contact first; the others are found through them."),
    ConfigKey("client.id", "text", default="zkconsumer-producer", since="0.8.2").means(
        "Names this client in requests: in the brokers' logs, metrics and quotas."
    ),
    ConfigKey(
        "acks",
        "choice",
        default="all",
        choices=("all", "1"),
        synonyms={"-1": "all"},
        since="0.8.2",
        accepts='Literal["all", "1", -1, 1] | None',
    ).means(
        "Which logs contain a record before it counts as written: those of all in-sync replicas, "
        "or only the leader's. `0` is refused: no future could report a lost record."
    ),
    ConfigKey("enable.idempotence", "bool", default=True, since="0.11.0").means(
        "Numbers the records, so that a record sent again is not written twice. Needs "
        "`acks=all`; otherwise, and on brokers before 0.11, records are not numbered."
    ),
    ConfigKey(
        "retries", "int", default=2**31 - 1, low=0, since="0.8.2", accepts="float | None"
    ).means("How often a batch is retried, within `delivery_timeout_ms`."),
    ConfigKey("delivery.timeout.ms", "int", default=120_000, low=1, since="2.1.0").means(
        "The largest age of a record at a retry; an older one's future fails."
    ),
    ConfigKey("batch.size", "int", default=16_384, low=0, since="0.8.2").means(
        "The largest batch of a partition in bytes, before compression; a larger record is a "
        "batch of its own."
    ),
    ConfigKey("linger.ms", "int", default=0, low=0, since="0.8.2").means(
        "How long a record waits for others to fill its batch, while the buffer has capacity; "
        "less than `delivery_timeout_ms`. Even with 0, records sent while others are in "
        "flight share a batch."
    ),
    ConfigKey(
        "compression.type",
        "choice",
        default="none",
        choices=("none", "gzip", "snappy", "lz4", "zstd"),
        since="0.8.2",
    ).means(
        "Compresses batches. lz4 needs 0.8.2 and `zkconsumer[lz4]`; zstd needs 2.1 and "
        "`zkconsumer[zstd]`."
    ),
    ConfigKey("buffer.memory", "int", default=33_554_432, low=1, since="0.8.2").means(
        "The maximum bytes of unacknowledged records; beyond it `send` waits."
    ),
    ConfigKey("max.request.size", "int", default=1_048_576, low=1, since="0.8.2").means(
        "The largest record, before compression, and the largest request, unless one batch "
        "is larger. Brokers have limits of their own (`message.max.bytes`)."
    ),
    ConfigKey("max.block.ms", "int", default=60_000, low=0, since="0.9.0").means(
        "How long `send` and `partitions_for` wait for the topic's metadata, and for buffer memory."
    ),
    ConfigKey("allow.auto.create.topics", "bool", default=True, since="0.11.0").means(
        "Whether brokers with automatic topic creation may create a missing topic. If false, "
        "brokers before 0.11 are never sent its name, which alone would create it."
    ),
    ConfigKey("metadata.max.age.ms", "int", default=300_000, low=1, since="0.8.2").means(
        "How often to look for new partitions. A new leader is noticed at once."
    ),
    ConfigKey("retry.backoff.ms", "int", default=100, low=0, since="0.8.2").means(
        "The pause before a batch is retried."
    ),
    ConfigKey("request.timeout.ms", "int", default=30_000, low=1, since="0.9.0").means(
        "How long connecting may take, and how long an acknowledgement."
    ),
    ConfigKey("bootstrap.timeout.ms", "int", default=30_000, low=0, since="kafka-python").means(
        "A producer connects when it is created: how long it waits for a broker before it "
        "raises `NoBrokersAvailable`. With 0 it connects at its first use."
    ),
    *SECURITY_KEYS,
)

BY_KEY: Final[Mapping[str, ConfigKey]] = {spec.key: spec for spec in KEYS}

OBJECTS: Final[Mapping[str, str]] = {
    "key.serializer": "A function of the key, or a `Serializer`: returns bytes, or None for null.",
    "value.serializer": "The same for the value.",
    "partitioner": "A function of the key's bytes, all partitions, and those with a leader: "
    "returns a partition. By default keys are hashed as by the Java client (murmur2), and records "
    "without a key go to the partitions with a leader in turn.",
    "ssl.context": "An `ssl.SSLContext`, in place of all other settings that begin with `ssl_`.",
    "sasl.oauth.token.provider": "With `OAUTHBEARER`: a function that returns a token, or an "
    "object with `token()`.",
}
"""Settings that are not strings, numbers or booleans, with descriptions in Markdown."""

INERT: Final = frozenset(
    {
        "api.version",
        "api.version.auto.timeout.ms",
        "client.dns.lookup",
        "connections.max.idle.ms",
        "kafka.client",
        "max.in.flight.requests.per.connection",
        "metric.reporters",
        "metrics.enabled",
        "metrics.num.samples",
        "metrics.sample.window.ms",
        "receive.buffer.bytes",
        "receive.message.max.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "selector",
        "send.buffer.bytes",
        "socket.options",
    }
)
"""Settings of kafka-python that are accepted without effect; records always keep their order."""

REFUSED: Final[Mapping[str, str]] = {
    "transactional.id": "there are no transactions: use kafka-python's producer for them",
    "transaction.timeout.ms": "there are no transactions: use kafka-python's producer for them",
    "proxy.url": "connections go straight to the brokers",
    "socks5.proxy": "connections go straight to the brokers",
    "sasl.kerberos.name": "give sasl_kerberos_service_name and sasl_kerberos_domain_name",
}
"""Settings that are refused, since they can't be ignored, with the reasons."""
