"""The settings of fetching and the network of a ``KafkaConsumer``; ``keys`` includes them."""

from zkconsumer.config_spec import ConfigKey, at_least

FETCH: tuple[ConfigKey, ...] = (
    ConfigKey("fetch.min.bytes", "int", default=1, low=0, since="0.9.0").means(
        "A broker delays its response until it has this many bytes, or until "
        "`fetch_max_wait_ms` has passed."
    ),
    ConfigKey("fetch.max.wait.ms", "int", default=500, low=0, since="0.9.0").means(
        "How long a broker may delay a response that has fewer than `fetch_min_bytes`. Less than "
        "`request_timeout_ms`."
    ),
    ConfigKey("fetch.max.bytes", "int", default=52_428_800, low=1, since="0.10.1").means(
        "The most bytes in one response of a broker, and the most that wait in memory for "
        "each broker."
    ),
    ConfigKey("max.partition.fetch.bytes", "int", default=1_048_576, low=1, since="0.9.0").means(
        "The most bytes of each partition in one response, while none is far behind (see "
        "`fetch_message_catch_up_max_bytes`). A larger record is still returned: "
        "brokers from 0.10.1 on send it whole, and with older ones the fetch grows."
    ),
    ConfigKey(
        "fetch.message.catch.up.max.bytes",
        "int",
        default=4_194_304,
        follows="max.partition.fetch.bytes",
        derived_text="4194304, or `max_partition_fetch_bytes` where that is set",
        low=1,
        since="zkconsumer",
    ).means(
        "The largest fetch size for partitions that lag far behind: the share of a partition "
        "doubles after each response that fills it, up to an equal share of this. At the end of "
        "the log, after a failure, on a slow link and while memory is short it is "
        "`max_partition_fetch_bytes` again. Must be at least that; if equal, nothing grows."
    ),
    ConfigKey(
        "fetch.message.growth.max.bytes",
        "int",
        derive=at_least(104_857_600, "max.partition.fetch.bytes"),
        derived_text="104857600, or `max_partition_fetch_bytes` where that is larger",
        low=1,
        since="zkconsumer",
    ).means(
        "The size up to which a fetch grows for a record larger than "
        "`max_partition_fetch_bytes`. Beyond it poll raises `MessageTooLarge`."
    ),
    ConfigKey(
        "fetch.max.decompressed.bytes", "int", default=134_217_728, low=1, since="zkconsumer"
    ).means("The largest decompressed size of what one fetch returns for one partition."),
    ConfigKey(
        "enable.incremental.fetch.sessions", "bool", default=True, since="kafka-python"
    ).means(
        "Whether requests to brokers from 1.1 on name only what changed since the last "
        "fetch (KIP-227)."
    ),
    ConfigKey("check.crcs", "bool", default=True, since="0.9.0").means(
        "Whether checksums are verified. They always are: `False` is logged at debug level, "
        "and has no effect."
    ),
)

NETWORK: tuple[ConfigKey, ...] = (
    ConfigKey("request.timeout.ms", "int", default=30_000, low=1, since="0.9.0").means(
        "How long a broker may take to respond. After 2 s without a response (a fifteenth of the "
        "time-out if that is less) a request that only reads is sent again, over a second "
        "connection. A fetch response that keeps arriving may take ten times as long."
    ),
    ConfigKey("bootstrap.timeout.ms", "int", default=30_000, low=0, since="kafka-python").means(
        "A consumer connects when it is created: how long it waits for a broker to respond "
        "before it raises `NoBrokersAvailable`. With 0, and with `zookeeper_connect`, it connects "
        "at its first use."
    ),
    ConfigKey(
        "socket.connection.setup.timeout.ms", "int", default=10_000, low=1, since="2.7.0"
    ).means("How long connecting to a broker may take."),
    ConfigKey("retry.backoff.ms", "int", default=100, low=0, since="0.9.0").means(
        "The pause after a failure; it doubles with each further one, up to `retry_backoff_max_ms`."
    ),
    ConfigKey("retry.backoff.max.ms", "int", default=1_000, low=0, since="3.7.0").means(
        "The longest pause after failures in a row; see `retry_backoff_ms`."
    ),
    ConfigKey("metadata.max.age.ms", "int", default=300_000, low=1, since="0.9.0").means(
        "How often to refresh the list of topics and partitions. A new leader is noticed "
        "immediately; new partitions, and new topics that match a pattern, within this time."
    ),
    ConfigKey("receive.buffer.bytes", "int", default=-1, low=-1, since="0.9.0").means(
        "The receive buffer (SO_RCVBUF) of sockets; 0 or -1 leaves it to the system, which "
        "lets it grow with the traffic."
    ),
    ConfigKey(
        "receive.message.max.bytes", "int", default=1_073_741_824, low=1_000, since="kafka-python"
    ).means(
        "The largest response accepted from a broker. Brokers of 0.8 to 0.10.0 bound only the "
        "parts of a response, so it may be as many times `max_partition_fetch_bytes` as there are "
        "partitions."
    ),
    ConfigKey("metrics.enabled", "bool", default=True, since="kafka-python").means(
        "Whether `metrics()` returns numbers; otherwise it returns None."
    ),
    ConfigKey("metric.group.prefix", "text", default="consumer", since="kafka-python").means(
        "The prefix of the names of groups in `metrics()`."
    ),
    ConfigKey("metrics.num.samples", "int", default=2, low=1, since="0.9.0").means(
        "The number of time windows over which `metrics()` computes rates, averages and maxima."
    ),
    ConfigKey("metrics.sample.window.ms", "int", default=30_000, low=1, since="0.9.0").means(
        "The length of each window of `metrics_num_samples`."
    ),
)
