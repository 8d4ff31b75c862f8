"""Every setting of a consumer: one table with key, type, default, range, version and meaning.

``ConsumerConfig`` reads values by this table; docs/configuration.md and ``config_typed`` are
printed from it (``make generated``). Keys and defaults are those of Kafka 0.8.2.2
``ConsumerConfig``; what differs from the original is said in the key's own words.
"""

import re
from collections.abc import Mapping

from zkconsumer.config_security import SECURITY_KEYS as BROKER_SECURITY
from zkconsumer.config_spec import ConfigKey, Value, Values
from zkconsumer.config_zookeeper import SECURITY_KEYS

_LEGAL_NAME = re.compile(r"[a-zA-Z0-9._-]*")


def _legal_group(text: str) -> bool:
    return bool(_LEGAL_NAME.fullmatch(text)) and text not in ("", ".", "..")


def _legal_client(text: str) -> bool:
    return bool(_LEGAL_NAME.fullmatch(text))


def _legal_node_name(text: str) -> bool:
    return text != "" and "/" not in text and text.isprintable()


def _legal_charset(text: str) -> bool:
    try:
        "a".encode(text)
    except (LookupError, ValueError):
        return False
    return True


def _larger_of_fetch_sizes(values: Values) -> Value:
    fetch_bytes = values["fetch.message.max.bytes"]
    return max(104_857_600, fetch_bytes if isinstance(fetch_bytes, int) else 0)


def _catching_up(values: Values) -> Value:
    fetch_bytes = values["fetch.message.max.bytes"]
    return max(4_194_304, fetch_bytes if isinstance(fetch_bytes, int) else 0)


KEYS: tuple[ConfigKey, ...] = (
    ConfigKey(
        key="zookeeper.connect",
        kind="text",
        required=True,
        legal=lambda text: bool(text.strip()),
        legal_text="host1:port1,host2:port2, with one chroot such as /kafka at the end if wanted",
        doc="Where ZooKeeper listens. The chroot must exist: brokers create it, consumers don't.",
    ),
    ConfigKey(
        key="group.id",
        kind="text",
        required=True,
        legal=_legal_group,
        legal_text="letters, digits, dot, underscore and dash, at least one of them",
        doc="The consumer group. The original lets an empty group id pass, and then works in the "
        "nodes `/consumers//...`, which ZooKeeper refuses with an error that does not name the "
        "cause; here it is refused at once, and so are `.` and `..`.",
    ),
    ConfigKey(
        key="zookeeper.session.timeout.ms",
        kind="int",
        default=6000,
        low=1,
        doc="The session time-out to request of ZooKeeper; the server may grant another. A member "
        "that vanishes keeps its partitions that long.",
    ),
    ConfigKey(
        key="zookeeper.connection.timeout.ms",
        kind="int",
        derive=lambda values: values["zookeeper.session.timeout.ms"],
        derived_text="`zookeeper.session.timeout.ms`",
        low=1,
        doc="How long to wait for the first connection to ZooKeeper, and later for the answer to "
        "each batch of requests.",
    ),
    ConfigKey(
        key="zookeeper.sync.time.ms",
        kind="int",
        default=2000,
        low=0,
        doc="Only the default of `rebalance.backoff.ms`.",
    ),
    *SECURITY_KEYS,
    *BROKER_SECURITY,
    ConfigKey(
        key="consumer.id",
        kind="text",
        derived_text="generated",
        legal=_legal_node_name,
        legal_text="printable text without a slash, at least one character",
        doc="Replaces the generated part (`host-ms-hex`) of the member's id. For tests: two live "
        "members of one group must not share it.",
    ),
    ConfigKey(
        key="client.id",
        kind="text",
        derive=lambda values: values["group.id"],
        derived_text="`group.id`",
        legal=_legal_client,
        legal_text="letters, digits, dot, underscore and dash",
        doc="Names this client in requests: it shows up in the broker's logs and metrics.",
    ),
    ConfigKey(
        key="fetch.wait.max.ms",
        kind="int",
        default=100,
        low=0,
        doc="The longest that a broker holds back an answer while it waits for `fetch.min.bytes`.",
    ),
    ConfigKey(
        key="socket.timeout.ms",
        kind="int",
        default=30_000,
        low=1,
        doc="Time-out for connecting to a broker and for its answers. After 2 s of silence (a "
        "fifteenth of it where that is less) what only reads is sent once more, over a second "
        "connection. At least `fetch.wait.max.ms` (the check is there in 0.8.2 but does not work).",
    ),
    ConfigKey(
        key="socket.receive.buffer.bytes",
        kind="int",
        default=-1,
        low=-1,
        doc="The receive buffer (SO_RCVBUF) of the sockets that fetch; 0 or -1 leaves it to the "
        "system, which lets it grow with what comes. The original's default, 65536, costs a "
        "consumer that catches up a seventh of its speed.",
    ),
    ConfigKey(
        key="fetch.message.max.bytes",
        kind="int",
        default=1_048_576,
        low=1,
        doc="How many bytes *of each partition* to ask for in one fetch. The original gets stuck "
        "at a message (or compressed set) larger than this; here the fetch of that partition "
        "grows, see `fetch.message.growth.max.bytes`.",
    ),
    ConfigKey(
        key="fetch.message.catch.up.max.bytes",
        kind="int",
        derive=_catching_up,
        derived_text="4194304, or `fetch.message.max.bytes` where that is set",
        low=1,
        since="zkconsumer",
        doc="The largest fetch of a partition that is far behind: the size doubles after each "
        "response that fills it, within `fetch.max.bytes` and the free bytes of its "
        "stream's queue. At the end of the log it is `fetch.message.max.bytes` again. At least "
        "that; equal to it, nothing grows.",
    ),
    ConfigKey(
        key="fetch.message.growth.max.bytes",
        kind="int",
        derive=_larger_of_fetch_sizes,
        derived_text="104857600, or `fetch.message.max.bytes` where that is larger",
        low=1,
        since="zkconsumer",
        doc="How far the fetch of a partition may grow when it meets a message larger than "
        "`fetch.message.max.bytes`. Beyond this the stream raises `MessageTooLarge`. At least "
        "`fetch.message.max.bytes`; equal to it, nothing grows.",
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
        key="num.consumer.fetchers",
        kind="int",
        default=1,
        low=1,
        since="0.8.1",
        doc="Fetcher threads *for each broker* that leads partitions of ours.",
    ),
    ConfigKey(
        key="fetch.min.bytes",
        kind="int",
        default=1,
        low=0,
        doc="How many bytes the broker should have before it answers a fetch.",
    ),
    ConfigKey(
        key="queued.max.message.chunks",
        kind="int",
        default=2,
        low=1,
        doc="How many fetched chunks may wait in a stream's queue; each can be as large as one "
        "partition's fetch.",
    ),
    ConfigKey(
        key="queued.max.bytes",
        kind="int",
        default=67_108_864,
        low=1,
        since="zkconsumer",
        doc="How many bytes may wait in all streams' queues together, counted as they lie in "
        "memory after decompression; every stream may use an equal part of it. Besides it, each "
        "fetcher holds at most one answer of its broker, see `fetch.max.bytes`.",
    ),
    ConfigKey(
        key="fetch.max.bytes",
        kind="int",
        default=52_428_800,
        low=1,
        since="zkconsumer",
        doc="How many bytes to ask of one broker in one fetch, over all partitions: with many "
        "partitions each is asked for less than `fetch.message.max.bytes`. A single message that "
        "is larger comes all the same.",
    ),
    ConfigKey(
        key="delivery",
        kind="choice",
        default="at_least_once",
        choices=("at_least_once", "at_most_once", "scala"),
        since="zkconsumer",
        doc="What an automatic commit covers. `at_least_once`: messages whose successor was asked "
        "for. `at_most_once`: the offset is committed before the message is handed over. `scala`: "
        "messages that were handed over, as the original does; a crash may lose the current one.",
    ),
    ConfigKey(
        key="poison.policy",
        kind="choice",
        default="raise",
        choices=("raise", "skip", "dead_letter"),
        since="zkconsumer",
        doc="What to do with a message that can't be read (damaged, unknown codec, larger than the "
        "largest fetch): the stream raises and the partition stops; it is logged and skipped; or "
        "it is written to `poison.dead.letter.file` and skipped.",
    ),
    ConfigKey(
        key="poison.dead.letter.file",
        kind="text",
        default="",
        since="zkconsumer",
        doc="With `poison.policy=dead_letter`: the file to append to, one JSON object a line with "
        "the position, the reason and the raw bytes.",
    ),
    ConfigKey(
        key="auto.commit.enable",
        kind="bool",
        default=True,
        doc="Commit offsets at regular intervals, before every rebalance and at shutdown.",
    ),
    ConfigKey(
        key="auto.commit.interval.ms",
        kind="int",
        default=60_000,
        low=1,
        doc="The time between two automatic commits.",
    ),
    ConfigKey(
        key="rebalance.max.retries",
        kind="int",
        default=4,
        low=1,
        doc="How many tries a rebalance has *in all*, the first included.",
    ),
    ConfigKey(
        key="rebalance.backoff.ms",
        kind="int",
        derive=lambda values: values["zookeeper.sync.time.ms"],
        derived_text="`zookeeper.sync.time.ms`",
        low=0,
        doc="The pause after each failed try of a rebalance.",
    ),
    ConfigKey(
        key="owner.audit.interval.ms",
        kind="int",
        default=30_000,
        low=0,
        since="zkconsumer",
        doc="How often a member at rest looks whether its owner nodes are there, and whether "
        "partitions that fall to it have none; 0: never.",
    ),
    ConfigKey(
        key="zookeeper.silence.percent",
        kind="int",
        default=33,
        low=0,
        high=100,
        since="zkconsumer",
        doc="Delivery pauses when ZooKeeper has been silent for this share of the session "
        "time-out: soon after, the session may end and others may own the partitions. While the "
        "connection is up, less than 17 counts as 17, which is the time of two pings.",
    ),
    ConfigKey(
        key="refresh.leader.backoff.ms",
        kind="int",
        default=200,
        low=0,
        doc="The pause between two searches for the leaders of partitions without one.",
    ),
    ConfigKey(
        key="auto.offset.reset",
        kind="choice",
        default="largest",
        choices=("smallest", "largest"),
        synonyms={"earliest": "smallest", "latest": "largest"},
        doc="Where to start when no offset is stored, or when it lies outside the log. The names "
        "of later versions, `earliest` and `latest`, are understood too.",
    ),
    ConfigKey(
        key="consumer.timeout.ms",
        kind="int",
        default=-1,
        doc="Negative: a stream waits for ever. Otherwise it raises `ConsumerTimeout` after so "
        "long without a message, and stays usable.",
    ),
    ConfigKey(
        key="exclude.internal.topics",
        kind="bool",
        default=True,
        since="0.8.2",
        doc="Filters never match `__consumer_offsets`. Has no effect on topics named one by one. "
        "Must be the same on all members of a group.",
    ),
    ConfigKey(
        key="partition.assignment.strategy",
        kind="choice",
        default="range",
        choices=("range", "roundrobin"),
        since="0.8.2",
        doc="How partitions are shared out. Must be the same on all members of a group, and "
        "nothing detects that it is not. The original takes every unknown value for `range`; "
        "here it is refused.",
    ),
    ConfigKey(
        key="offsets.storage",
        kind="choice",
        default="zookeeper",
        choices=("zookeeper", "kafka"),
        any_case=True,
        since="0.8.2",
        doc="Where offsets are kept; written in any case. Must be the same on all members of a "
        "group; while a group moves from one to the other, `dual.commit.enabled` keeps both.",
    ),
    ConfigKey(
        key="dual.commit.enabled",
        kind="bool",
        derive=lambda values: values["offsets.storage"] == "kafka",
        derived_text="true with `offsets.storage=kafka`, else false",
        since="0.8.2",
        doc="With `offsets.storage=kafka`: also commit to ZooKeeper, while a group moves. Not "
        "looked at with ZooKeeper storage.",
    ),
    ConfigKey(
        key="offsets.channel.backoff.ms",
        kind="int",
        default=1000,
        low=0,
        since="0.8.2",
        doc="The pause between tries to find or to ask the offset coordinator.",
    ),
    ConfigKey(
        key="offsets.channel.socket.timeout.ms",
        kind="int",
        default=10_000,
        low=1,
        since="0.8.2",
        doc="Time-out of the connection to the offset coordinator.",
    ),
    ConfigKey(
        key="offsets.commit.max.retries",
        kind="int",
        default=5,
        low=0,
        since="0.8.2",
        doc="How often a failed commit is tried again; automatic commits are not.",
    ),
    ConfigKey(
        key="shutdown.timeout.ms",
        kind="int",
        default=30_000,
        low=1,
        since="zkconsumer",
        doc="The longest that `shutdown()` takes, the last commit included.",
    ),
    ConfigKey(
        key="serializer.encoding",
        kind="text",
        default="UTF8",
        legal=_legal_charset,
        legal_text="the name of a character set that Python knows",
        doc="The character set of a string decoder that is made from this configuration.",
    ),
    ConfigKey(
        key="kafka.metrics.reporters",
        kind="text",
        default="",
        inert=True,
        doc="Classes of the original that report metrics.",
    ),
    ConfigKey(
        key="kafka.metrics.polling.interval.secs",
        kind="int",
        default=10,
        inert=True,
        doc="How often those report.",
    ),
    ConfigKey(
        key="kafka.csv.metrics.dir",
        kind="text",
        default="",
        inert=True,
        doc="Where the original's CSV reporter writes.",
    ),
    ConfigKey(
        key="kafka.csv.metrics.reporter.enabled",
        kind="bool",
        default=False,
        inert=True,
        doc="Whether the original's CSV reporter runs.",
    ),
    ConfigKey(
        key="mirror.topics.whitelist",
        kind="text",
        default="",
        inert=True,
        doc="Named in the original, but never read there either.",
    ),
    ConfigKey(
        key="mirror.topics.blacklist",
        kind="text",
        default="",
        inert=True,
        doc="Named in the original, but never read there either.",
    ),
    ConfigKey(
        key="mirror.consumer.numthreads",
        kind="int",
        default=1,
        inert=True,
        doc="Named in the original, but never read there either.",
    ),
)
"""All settings, in the order of the documentation; a derived default looks only upwards."""

BY_KEY: Mapping[str, ConfigKey] = {config_key.key: config_key for config_key in KEYS}
