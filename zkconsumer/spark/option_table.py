"""The table of all options of the Spark source; docs/spark-options.md is printed from it. Pure."""

from dataclasses import dataclass
from typing import Final, Literal

from zkconsumer.config_security import JAVA_KEYS
from zkconsumer.config_security import SECURITY_KEYS as BROKER_SECURITY
from zkconsumer.config_spec import ConfigKey
from zkconsumer.config_zookeeper import SECURITY_KEYS

Queries = Literal["both", "batch", "streaming"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option.

    Attributes:
        name: the option's name; case does not matter.
        queries: the kinds of query in which it has an effect.
        allowed: the allowed values, in words.
        default: the default as text; None: there is none.
        default_text: the default in words, if it is no single value.
        doc: the description, in Markdown.
        ours: whether Spark's own Kafka source lacks it.
        inert: whether it is accepted without effect, so that existing programs run.
    """

    name: str
    queries: Queries = "both"
    allowed: str
    default: str | None = None
    default_text: str = ""
    doc: str
    ours: bool = False
    inert: bool = False


def _default_of(spec: ConfigKey) -> str | None:
    if isinstance(spec.default, bool):
        return str(spec.default).lower()
    return None if spec.default is None else str(spec.default)


_WHAT = (
    Option(
        name="subscribe",
        allowed="topics, separated by commas",
        doc="Read all partitions of these topics. Exactly one of `subscribe`, "
        "`subscribePattern` and `assign` must be given. A topic that the cluster does not have is "
        "an error, and is not created.",
    ),
    Option(
        name="subscribePattern",
        allowed="a Java regular expression",
        doc="Read all topics whose whole name matches, those that come later included; never "
        "`__consumer_offsets`. An expression whose meaning outside Java is not certain is refused.",
    ),
    Option(
        name="assign",
        allowed='JSON: `{"topicA":[0,1],"topicB":[2]}`',
        doc="Read exactly these partitions.",
    ),
)

_WHERE = (
    Option(
        name="zookeeper.connect",
        allowed="`host1:port1,host2:port2/chroot`",
        doc="The cluster's ZooKeeper. Brokers are found there unless `kafka.bootstrap.servers` is "
        "given, too; one of the two must be. Only the driver connects to it.",
        ours=True,
    ),
    Option(
        name="kafka.bootstrap.servers",
        allowed="`host1:port1,host2:port2`",
        doc="Some brokers, by which the others are found.",
    ),
    Option(
        name="zookeeper.session.timeout.ms",
        allowed="at least 1",
        default="6000",
        doc="The time-out of a ZooKeeper session, in milliseconds.",
        ours=True,
    ),
    Option(
        name="zookeeper.connection.timeout.ms",
        allowed="at least 1",
        default_text="`zookeeper.session.timeout.ms`",
        doc="How long connecting to ZooKeeper may take, and each call there, in milliseconds.",
        ours=True,
    ),
)

_INTO_ZOOKEEPER = tuple(
    Option(
        name=spec.key,
        allowed=spec.allowed,
        default=None if spec.derived_text else _default_of(spec),
        default_text=spec.derived_text,
        doc=spec.doc,
        ours=True,
    )
    for spec in SECURITY_KEYS
)

_INTO_BROKERS = (
    *(
        Option(
            name=f"kafka.{spec.key}",
            allowed=spec.allowed,
            default=_default_of(spec),
            doc=spec.doc,
        )
        for spec in BROKER_SECURITY
    ),
    *(
        Option(name=f"kafka.{key}", allowed="text", doc=f"Kafka's own name: {means}.")
        for key, (_, means) in JAVA_KEYS.items()
    ),
)

_RANGE = (
    Option(
        name="startingOffsets",
        allowed='`earliest`, `latest`, `group` or JSON: `{"topicA":{"0":23,"1":-1}}`',
        default_text="`latest` in streaming queries, `earliest` in batch queries",
        doc="Where a new query starts; a restarted one continues where it left off. In JSON, -2 is "
        "the earliest offset and -1 the latest, and every partition that is read must be named. "
        "`group` (ours) is the committed offset of `group.id`; a partition without a "
        "commit starts at its earliest offset. Partitions that come up later are read from their "
        "start. A batch query can't start at the latest offset.",
    ),
    Option(
        name="endingOffsets",
        queries="batch",
        allowed='`latest` or JSON: `{"topicA":{"0":50,"1":-1}}`',
        default="latest",
        doc="Where a batch query ends: before this offset. In JSON, -1 is the latest offset. An "
        "error in streaming queries.",
    ),
    Option(
        name="startingTimestamp",
        allowed="milliseconds since the epoch",
        doc="Where a new query starts, for all partitions; goes before the two others. See "
        "[times](#times).",
    ),
    Option(
        name="endingTimestamp",
        queries="batch",
        allowed="milliseconds since the epoch",
        doc="Where a batch query ends, for all partitions; goes before the two others. See "
        "[times](#times). An error in streaming queries.",
    ),
    Option(
        name="startingOffsetsByTimestamp",
        allowed='JSON: `{"topicA":{"0":1700000000000}}`',
        doc="Where a new query starts, by partition; goes before `startingOffsets`. See "
        "[times](#times).",
    ),
    Option(
        name="endingOffsetsByTimestamp",
        queries="batch",
        allowed='JSON: `{"topicA":{"0":1700000000000}}`',
        doc="Where a batch query ends, by partition; goes before `endingOffsets`. See "
        "[times](#times). An error in streaming queries.",
    ),
    Option(
        name="startingOffsetsByTimestampStrategy",
        allowed="`error` or `latest`",
        default="error",
        doc="What to do about a partition that has nothing as new as the time at which it should "
        "start: fail, or start at its latest offset.",
    ),
    Option(
        name="failOnDataLoss",
        allowed="`true` or `false`",
        default="true",
        doc="Whether a query fails when what it should read is not there any more, or goes on "
        "after it with a warning. Either names the offsets.",
    ),
)

_SIZE = (
    Option(
        name="maxOffsetsPerTrigger",
        queries="streaming",
        allowed="at least 1",
        doc="Read about this many messages in a batch. Each partition gets its share by its "
        "backlog, and none is starved.",
    ),
    Option(
        name="minOffsetsPerTrigger",
        queries="streaming",
        allowed="at least 0",
        doc="Wait for this many messages before a batch, but not longer than `maxTriggerDelay`. "
        "Must not be more than `maxOffsetsPerTrigger`. It does not apply to Trigger.AvailableNow.",
    ),
    Option(
        name="maxTriggerDelay",
        queries="streaming",
        allowed="a time such as `30s`, `15m`, `2h`; without a unit milliseconds",
        default="15m",
        doc="For how long `minOffsetsPerTrigger` may put off a batch.",
    ),
    Option(
        name="minPartitions",
        allowed="at least 1",
        default_text="one task for each partition",
        doc="Cut large partitions so that there are about this many tasks.",
    ),
    Option(
        name="maxRecordsPerPartition",
        allowed="at least 1",
        doc="Cut partitions so that no task reads more offsets than this.",
    ),
    Option(
        name="includeHeaders",
        allowed="`true` or `false`",
        default="false",
        doc="Have a column `headers`. It is null where a message has none: headers came with 0.11.",
    ),
)

_PATIENCE = (
    Option(
        name="fetchOffset.numRetries",
        allowed="at least 1",
        default="3",
        doc="How often the driver asks for offsets and leaders before it gives up. Where a broker "
        "has died or leads no more, it goes on for `kafkaConsumer.pollTimeoutMs`.",
    ),
    Option(
        name="fetchOffset.retryIntervalMs",
        allowed="at least 0",
        default="1000",
        doc="The pause before it asks again, in milliseconds. (Spark's documentation says 10; its "
        "code has 1000, as has this.)",
    ),
    Option(
        name="kafkaConsumer.pollTimeoutMs",
        allowed="at least 1",
        default="120000",
        doc="For how long a task goes on trying without getting on, and the driver waits for a new "
        "leader, in milliseconds.",
    ),
)

_GROUP = (
    Option(
        name="group.id",
        allowed="a group's id",
        doc="The group whose offsets `startingOffsets=group` reads and `commitOffsetsTo` writes. "
        "The query does not join it. `kafka.group.id` means the same.",
        ours=True,
    ),
    Option(
        name="commitOffsetsTo",
        queries="streaming",
        allowed="`none`, `zookeeper`, `kafka` or `both`",
        default="none",
        doc="Where to leave the query's progress for the group, so that its tools show it and a "
        "consumer can take over. Needs `group.id`, and `zookeeper.connect` unless it is `kafka`. "
        "An error in batch queries.",
        ours=True,
    ),
    Option(
        name="allowLiveGroup",
        queries="streaming",
        allowed="`true` or `false`",
        default="false",
        doc="Commit offsets although members of the group are at work. They commit theirs, too, "
        "and overwrite each other's.",
        ours=True,
    ),
    Option(
        name="groupIdPrefix",
        allowed="any text",
        doc="Has no effect: no group is joined, so none is made up.",
        inert=True,
    ),
)

_KAFKA = (
    Option(
        name="kafka.client.id",
        allowed="any text",
        default="zkconsumer-spark",
        doc="Sent with every request; brokers log it.",
    ),
    Option(
        name="kafka.max.partition.fetch.bytes",
        allowed="at least 1",
        default="4194304",
        doc="How much to ask for in one fetch. `kafka.fetch.message.max.bytes` is 0.8's "
        "name for it.",
    ),
    Option(
        name="kafka.fetch.message.growth.max.bytes",
        allowed="at least 1",
        default="104857600",
        doc="How far a fetch grows for a message that is larger.",
        ours=True,
    ),
    Option(
        name="kafka.fetch.max.decompressed.bytes",
        allowed="at least 1",
        default="134217728",
        doc="The most that one compressed set may unpack to.",
        ours=True,
    ),
    Option(
        name="kafka.request.timeout.ms",
        allowed="at least 1",
        default="30000",
        doc="How long a broker may take to answer, in milliseconds. `kafka.socket.timeout.ms` is "
        "0.8's name for it.",
    ),
    Option(
        name="kafka.fetch.max.wait.ms",
        allowed="at least 0",
        default="500",
        doc="How long a broker may wait where there is nothing to answer with, in milliseconds. "
        "`kafka.fetch.wait.max.ms` is 0.8's name for it.",
    ),
    Option(
        name="kafka.retry.backoff.ms",
        allowed="at least 0",
        default="10",
        doc="The first pause of a task after a failure that may pass, in milliseconds; it doubles "
        "up to a second. `kafka.refresh.leader.backoff.ms` is 0.8's name for it.",
    ),
    Option(
        name="kafka.offsets.storage",
        allowed="`zookeeper` or `kafka`",
        default_text="what `commitOffsetsTo` says; else `zookeeper` where that is known",
        doc="Where `startingOffsets=group` finds the group's offsets, if the query does not "
        "commit.",
        ours=True,
    ),
    Option(
        name="kafka.isolation.level",
        allowed="`read_uncommitted` or `read_committed`",
        default="read_uncommitted",
        doc="With `read_committed`, messages of aborted transactions are not read, and a log ends "
        "in front of the first transaction that is open. What marks the end of a transaction is "
        "never a message. Brokers before 0.11 have no transactions.",
    ),
)

SECTIONS: Final = {
    "What is read": _WHAT,
    "Where the cluster is": _WHERE,
    "Getting into ZooKeeper": _INTO_ZOOKEEPER,
    "Getting into brokers": _INTO_BROKERS,
    "From where to where": _RANGE,
    "How much at a time": _SIZE,
    "Time and again": _PATIENCE,
    "The group": _GROUP,
    "Settings of the client": _KAFKA,
}
"""All options by the heading of their documentation."""

OPTIONS: Final = tuple(option for section in SECTIONS.values() for option in section)
BY_NAME: Final = {option.name.lower(): option for option in OPTIONS}
DEFAULTS: Final = {option.name: option.default for option in OPTIONS if option.default is not None}
"""The options that have one value as their default."""
