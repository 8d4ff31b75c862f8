"""Every setting of a consumer: one table with key, type, default, range, version and meaning.

``ConsumerConfig`` reads values by this table; docs/configuration.md and ``config_typed`` are
generated from it (``make generated``). Keys and defaults are those of Kafka 0.8.2.2
``ConsumerConfig``; where a setting differs from the original, its description says so.
"""

import re
from collections.abc import Mapping
from typing import Literal

from zkconsumer.config_security import SECURITY_KEYS as BROKER_SECURITY
from zkconsumer.config_spec import ConfigKey, Value, at_least
from zkconsumer.config_zookeeper import SECURITY_KEYS

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]*")


def _legal_client(text: str) -> bool:
    return bool(_LEGAL_NAME.fullmatch(text))


def _legal_group(text: str) -> bool:
    return _legal_client(text) and text not in ("", ".", "..")


def _legal_node_name(text: str) -> bool:
    return text != "" and "/" not in text and text.isprintable()


def _legal_charset(text: str) -> bool:
    try:
        "a".encode(text)
    except (LookupError, ValueError):
        return False
    return True


_NEVER_READ = "Named in the original, but never read there either."


def _inert(
    key: str, kind: Literal["text", "int", "bool"], doc: str, default: Value = ""
) -> ConfigKey:
    return ConfigKey(key, kind, default=default, doc=doc, inert=True)


KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        "zookeeper.connect",
        "text",
        required=True,
        legal=lambda text: bool(text.strip()),
        legal_text="host1:port1,host2:port2, optionally with one chroot such as /kafka at the end",
    ).means(
        "The addresses of ZooKeeper. The chroot must exist: brokers create it, consumers don't."
    ),
    ConfigKey(
        "group.id",
        "text",
        required=True,
        legal=_legal_group,
        legal_text="letters, digits, dot, underscore and dash, at least one of them",
    ).means(
        "The consumer group. The original lets an empty group id pass, and then works in the "
        "nodes `/consumers//...`, which ZooKeeper refuses with an error that does not name the "
        "cause; here it is refused immediately, as are `.` and `..`."
    ),
    ConfigKey("zookeeper.session.timeout.ms", "int", default=6000, low=1).means(
        "The session time-out to request of ZooKeeper; the server may grant another. A member "
        "that crashes keeps its partitions for that long."
    ),
    ConfigKey(
        "zookeeper.connection.timeout.ms",
        "int",
        derive=lambda values: values["zookeeper.session.timeout.ms"],
        derived_text="`zookeeper.session.timeout.ms`",
        low=1,
    ).means(
        "How long to wait for the first connection to ZooKeeper, and later for the response to "
        "each batch of requests."
    ),
    ConfigKey("zookeeper.sync.time.ms", "int", default=2000, low=0).means(
        "Used only as the default of `rebalance.backoff.ms`."
    ),
    *SECURITY_KEYS,
    *BROKER_SECURITY,
    ConfigKey(
        "consumer.id",
        "text",
        derived_text="generated",
        legal=_legal_node_name,
        legal_text="printable text without a slash, at least one character",
    ).means(
        "Replaces the generated part (`host-ms-hex`) of the member's id. For tests: two live "
        "members of one group must not share it."
    ),
    ConfigKey(
        "client.id",
        "text",
        derive=lambda values: values["group.id"],
        derived_text="`group.id`",
        legal=_legal_client,
        legal_text="letters, digits, dot, underscore and dash",
    ).means("Names this client in requests: it shows up in the broker's logs and metrics."),
    ConfigKey("fetch.wait.max.ms", "int", default=100, low=0).means(
        "The longest that a broker delays a response while it waits for `fetch.min.bytes`."
    ),
    ConfigKey("socket.timeout.ms", "int", default=30_000, low=1).means(
        "Time-out for connecting to a broker and for its responses. After 2 s without a response "
        "(a fifteenth of the time-out if that is less) a request that only reads is sent again, "
        "over a second connection. A fetch response that keeps arriving may take ten times as "
        "long. At least `fetch.wait.max.ms` (0.8.2 has that check, but it does not work)."
    ),
    ConfigKey("socket.receive.buffer.bytes", "int", default=-1, low=-1).means(
        "The receive buffer (SO_RCVBUF) of the sockets that fetch; 0 or -1 leaves it to the "
        "system, which lets it grow with the traffic. The original's default, 65536, costs a "
        "consumer that catches up a seventh of its speed."
    ),
    ConfigKey("fetch.message.max.bytes", "int", default=1_048_576, low=1).means(
        "How many bytes *of each partition* to request in one fetch. The original gets stuck "
        "at a message (or compressed set) larger than this; here the fetch of that partition "
        "grows, see `fetch.message.growth.max.bytes`."
    ),
    ConfigKey(
        "fetch.message.catch.up.max.bytes",
        "int",
        default=4_194_304,
        follows="fetch.message.max.bytes",
        derived_text="4194304, or `fetch.message.max.bytes` where that is set",
        low=1,
        since="zkconsumer",
    ).means(
        "The largest fetch size for a partition that lags far behind: it doubles after each "
        "response that fills it, within `fetch.max.bytes` and the free bytes of its "
        "stream's queue. At the end of the log it is `fetch.message.max.bytes` again. Must be at "
        "least that; if equal, nothing grows."
    ),
    ConfigKey(
        "fetch.message.growth.max.bytes",
        "int",
        derive=at_least(104_857_600, "fetch.message.max.bytes"),
        derived_text="104857600, or `fetch.message.max.bytes` where that is larger",
        low=1,
        since="zkconsumer",
    ).means(
        "How far the fetch of a partition may grow when it meets a message larger than "
        "`fetch.message.max.bytes`. Beyond this the stream raises `MessageTooLarge`. Must "
        "be at least `fetch.message.max.bytes`; if equal, nothing grows."
    ),
    ConfigKey(
        "fetch.max.decompressed.bytes", "int", default=134_217_728, low=1, since="zkconsumer"
    ).means("The largest decompressed size of what one fetch returns for one partition."),
    ConfigKey("num.consumer.fetchers", "int", default=1, low=1, since="0.8.1").means(
        "Fetcher threads *for each broker* that leads partitions of this consumer."
    ),
    ConfigKey("fetch.min.bytes", "int", default=1, low=0).means(
        "How many bytes the broker should have before it responds to a fetch."
    ),
    ConfigKey("queued.max.message.chunks", "int", default=2, low=1).means(
        "How many fetched chunks may wait in a stream's queue; each can be as large as one "
        "partition's fetch."
    ),
    ConfigKey("queued.max.bytes", "int", default=67_108_864, low=1, since="zkconsumer").means(
        "How many bytes may wait in all streams' queues together, as they take up memory after "
        "decompression; every stream may use an equal share. In addition, each fetcher holds at "
        "most one response of its broker, see `fetch.max.bytes`."
    ),
    ConfigKey("fetch.max.bytes", "int", default=52_428_800, low=1, since="zkconsumer").means(
        "How many bytes to request from one broker in one fetch, over all partitions: with many "
        "partitions the share of each is less than `fetch.message.max.bytes`. A single message "
        "that is larger is still returned."
    ),
    ConfigKey(
        "delivery",
        "choice",
        default="at_least_once",
        choices=("at_least_once", "at_most_once", "scala"),
        since="zkconsumer",
    ).means(
        "What an automatic commit covers. `at_least_once`: messages whose successor was "
        "requested. `at_most_once`: the offset is committed before the message is delivered. "
        "`scala`: delivered messages, as in the original; a crash may lose the current one."
    ),
    ConfigKey(
        "poison.policy",
        "choice",
        default="raise",
        choices=("raise", "skip", "dead_letter"),
        since="zkconsumer",
    ).means(
        "What to do with a message that can't be read (damaged, unknown codec, larger than the "
        "largest fetch): the stream raises and the partition stops; it is logged and skipped; or "
        "it is written to `poison.dead.letter.file` and skipped."
    ),
    ConfigKey("poison.dead.letter.file", "text", default="", since="zkconsumer").means(
        "With `poison.policy=dead_letter`: the file to append to, one JSON object per line with "
        "the position, the reason and the raw bytes."
    ),
    ConfigKey("auto.commit.enable", "bool", default=True).means(
        "Commit offsets at regular intervals, before every rebalance and at shutdown."
    ),
    ConfigKey("auto.commit.interval.ms", "int", default=60_000, low=1).means(
        "The time between two automatic commits."
    ),
    ConfigKey("rebalance.max.retries", "int", default=4, low=1).means(
        "How many attempts a rebalance has *in all*, the first included."
    ),
    ConfigKey(
        "rebalance.backoff.ms",
        "int",
        derive=lambda values: values["zookeeper.sync.time.ms"],
        derived_text="`zookeeper.sync.time.ms`",
        low=0,
    ).means("The pause after each failed attempt of a rebalance."),
    ConfigKey("owner.audit.interval.ms", "int", default=30_000, low=0, since="zkconsumer").means(
        "How often a member checks, between rebalances, that its owner nodes still exist, and "
        "that every partition assigned to it has one; 0: never."
    ),
    ConfigKey(
        "zookeeper.silence.percent", "int", default=33, low=0, high=100, since="zkconsumer"
    ).means(
        "Delivery pauses when ZooKeeper has not responded for this share of the session "
        "time-out: soon after, the session may expire and others may own the partitions. While "
        "the connection is up, less than 17 counts as 17, which is the time of two pings."
    ),
    ConfigKey("refresh.leader.backoff.ms", "int", default=200, low=0).means(
        "The pause between two look-ups of the leaders of partitions without one."
    ),
    ConfigKey(
        "auto.offset.reset",
        "choice",
        default="largest",
        choices=("smallest", "largest"),
        synonyms={"earliest": "smallest", "latest": "largest"},
    ).means(
        "Where to start when no offset is stored, or when it lies outside the log. The names "
        "of later versions, `earliest` and `latest`, are accepted, too."
    ),
    ConfigKey("consumer.timeout.ms", "int", default=-1).means(
        "Negative: a stream waits forever. Otherwise it raises `ConsumerTimeout` after this "
        "time without a message, and stays usable."
    ),
    ConfigKey("exclude.internal.topics", "bool", default=True, since="0.8.2").means(
        "Filters never match `__consumer_offsets`. Has no effect on topics named one by one. "
        "Must be the same on all members of a group."
    ),
    ConfigKey(
        "partition.assignment.strategy",
        "choice",
        default="range",
        choices=("range", "roundrobin"),
        since="0.8.2",
    ).means(
        "How partitions are assigned. Must be the same on all members of a group, and "
        "nothing detects a mismatch. The original treats every unknown value as `range`; "
        "here it is refused."
    ),
    ConfigKey(
        "offsets.storage",
        "choice",
        default="zookeeper",
        choices=("zookeeper", "kafka"),
        any_case=True,
        since="0.8.2",
    ).means(
        "Where offsets are stored; upper or lower case. Must be the same on all members of a "
        "group; while a group moves from one to the other, `dual.commit.enabled` writes both."
    ),
    ConfigKey(
        "dual.commit.enabled",
        "bool",
        derive=lambda values: values["offsets.storage"] == "kafka",
        derived_text="true with `offsets.storage=kafka`, else false",
        since="0.8.2",
    ).means(
        "With `offsets.storage=kafka`: also commit to ZooKeeper, while a group moves. Ignored "
        "with ZooKeeper storage."
    ),
    ConfigKey("offsets.channel.backoff.ms", "int", default=1000, low=0, since="0.8.2").means(
        "The pause between attempts to find or to query the offset coordinator."
    ),
    ConfigKey(
        "offsets.channel.socket.timeout.ms", "int", default=10_000, low=1, since="0.8.2"
    ).means("Time-out of the connection to the offset coordinator."),
    ConfigKey("offsets.commit.max.retries", "int", default=5, low=0, since="0.8.2").means(
        "How often a failed commit is retried; automatic commits are not retried."
    ),
    ConfigKey("shutdown.timeout.ms", "int", default=30_000, low=1, since="zkconsumer").means(
        "The longest that `shutdown()` takes, the last commit included."
    ),
    ConfigKey(
        "serializer.encoding",
        "text",
        default="UTF8",
        legal=_legal_charset,
        legal_text="the name of a character set that Python knows",
    ).means("The character set of a string decoder created from this configuration."),
    _inert("kafka.metrics.reporters", "text", "Classes of the original that report metrics."),
    _inert("kafka.metrics.polling.interval.secs", "int", "How often those report.", default=10),
    _inert("kafka.csv.metrics.dir", "text", "Where the original's CSV reporter writes."),
    _inert(
        "kafka.csv.metrics.reporter.enabled",
        "bool",
        "Whether the original's CSV reporter runs.",
        default=False,
    ),
    _inert("mirror.topics.whitelist", "text", _NEVER_READ),
    _inert("mirror.topics.blacklist", "text", _NEVER_READ),
    _inert("mirror.consumer.numthreads", "int", _NEVER_READ, default=1),
)
"""All settings, in the order of the documentation; a derived default reads only the ones above."""

BY_KEY: Mapping[str, ConfigKey] = {config_key.key: config_key for config_key in KEYS}
