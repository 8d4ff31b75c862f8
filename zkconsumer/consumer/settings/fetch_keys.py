"""The settings of fetching and security of a ``KafkaConsumer``: the rest of ``keys``."""

from zkconsumer.config_spec import ConfigKey, Value, Values


def _larger_of_fetch_sizes(values: Values) -> Value:
    fetch_bytes = values["max.partition.fetch.bytes"]
    return max(104_857_600, fetch_bytes if isinstance(fetch_bytes, int) else 0)


FETCH: tuple[ConfigKey, ...] = (
    ConfigKey(
        key="fetch.min.bytes",
        kind="int",
        default=1,
        low=0,
        since="0.9.0",
        doc="A broker waits until it has this many bytes...",
    ),
    ConfigKey(
        key="fetch.max.wait.ms",
        kind="int",
        default=500,
        low=0,
        since="0.9.0",
        doc="... or until this time is over. Less than `request_timeout_ms`.",
    ),
    ConfigKey(
        key="fetch.max.bytes",
        kind="int",
        default=52_428_800,
        low=1,
        since="0.10.1",
        doc="The most that one broker sends in one answer, and the most that waits in memory for "
        "each broker.",
    ),
    ConfigKey(
        key="max.partition.fetch.bytes",
        kind="int",
        default=1_048_576,
        low=1,
        since="0.9.0",
        doc="The most of each partition in one answer. A larger record comes all the same: "
        "brokers from 0.10.1 on send it whole, and with older ones the fetch grows.",
    ),
    ConfigKey(
        key="fetch.message.growth.max.bytes",
        kind="int",
        derive=_larger_of_fetch_sizes,
        derived_text="104857600, or `max_partition_fetch_bytes` where that is larger",
        low=1,
        since="zkconsumer",
        doc="... up to here. Beyond it poll raises `MessageTooLarge`.",
    ),
    ConfigKey(
        key="fetch.max.decompressed.bytes",
        kind="int",
        default=134_217_728,
        low=1,
        since="zkconsumer",
        doc="How large what one fetch brings of one partition may become when it is decompressed.",
    ),
    ConfigKey(
        key="enable.incremental.fetch.sessions",
        kind="bool",
        default=True,
        since="kafka-python",
        doc="Whether requests to brokers from 1.1 on name only what changed since the last "
        "fetch (KIP-227).",
    ),
    ConfigKey(
        key="check.crcs",
        kind="bool",
        default=True,
        since="0.9.0",
        doc="Whether checksums are held against the bytes. They always are: `False` is noted in "
        "the log at debug level, and does nothing.",
    ),
)

NETWORK: tuple[ConfigKey, ...] = (
    ConfigKey(
        key="request.timeout.ms",
        kind="int",
        default=30_000,
        low=1,
        since="0.9.0",
        doc="How long a broker may take to answer. After 2 s of silence (a fifteenth of it where "
        "that is less) what only reads is sent once more, over a second connection.",
    ),
    ConfigKey(
        key="bootstrap.timeout.ms",
        kind="int",
        default=30_000,
        low=0,
        since="kafka-python",
        doc="A consumer connects when it is made: how long it waits for a broker that answers, "
        "before it raises `NoBrokersAvailable`. With 0 it connects when it is used; so it does "
        "with `zookeeper_connect`.",
    ),
    ConfigKey(
        key="socket.connection.setup.timeout.ms",
        kind="int",
        default=10_000,
        low=1,
        since="2.7.0",
        doc="How long connecting to a broker may take.",
    ),
    ConfigKey(
        key="retry.backoff.ms",
        kind="int",
        default=100,
        low=0,
        since="0.9.0",
        doc="The pause after a failure; it doubles with each one that follows...",
    ),
    ConfigKey(
        key="retry.backoff.max.ms",
        kind="int",
        default=1_000,
        low=0,
        since="3.7.0",
        doc="... up to this one.",
    ),
    ConfigKey(
        key="metadata.max.age.ms",
        kind="int",
        default=300_000,
        low=1,
        since="0.9.0",
        doc="How often to ask which topics and partitions there are. What moves is noticed at "
        "once; new partitions, and new topics of a pattern, within this time.",
    ),
    ConfigKey(
        key="receive.buffer.bytes",
        kind="int",
        default=-1,
        low=-1,
        since="0.9.0",
        doc="The receive buffer (SO_RCVBUF) of sockets; 0 or -1 leaves it to the system, which "
        "lets it grow with what comes.",
    ),
    ConfigKey(
        key="receive.message.max.bytes",
        kind="int",
        default=1_073_741_824,
        low=1_000,
        since="kafka-python",
        doc="The largest answer taken from a broker. Brokers of 0.8 to 0.10.0 bound the parts of "
        "an answer only, so it may be as many times `max_partition_fetch_bytes` as there are "
        "partitions.",
    ),
    ConfigKey(
        key="metrics.enabled",
        kind="bool",
        default=True,
        since="kafka-python",
        doc="Whether `metrics()` gives numbers; else it gives None.",
    ),
    ConfigKey(
        key="metric.group.prefix",
        kind="text",
        default="consumer",
        since="kafka-python",
        doc="What the names of groups in `metrics()` begin with.",
    ),
    ConfigKey(
        key="metrics.num.samples",
        kind="int",
        default=2,
        low=1,
        since="0.9.0",
        doc="Over how many windows of time `metrics()` counts rates, averages and maxima...",
    ),
    ConfigKey(
        key="metrics.sample.window.ms",
        kind="int",
        default=30_000,
        low=1,
        since="0.9.0",
        doc="... and how long each of them is.",
    ),
)
