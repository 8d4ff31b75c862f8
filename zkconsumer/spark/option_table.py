"""The table of all options of the Spark source; docs/spark-options.md is made from it. Pure."""

from dataclasses import dataclass
from typing import Final, Literal

from zkconsumer.config_security import JAVA_KEYS
from zkconsumer.config_security import SECURITY_KEYS as BROKER_SECURITY
from zkconsumer.config_spec import ConfigKey
from zkconsumer.config_zookeeper import SECURITY_KEYS

Queries = Literal["both", "batch", "streaming"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of the Spark source, and its documentation.

    Attributes:
        name: the option's name; case does not matter.
        queries: the kinds of query in which it has an effect.
        allowed: the allowed values, in words.
        default: the default as text; None: there is none.
        default_text: the default in words, if it is not a single value.
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


_TOPICS = (
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
        doc="Read all topics whose whole name matches, also those created later, but never "
        "`__consumer_offsets`. An expression that may mean something else outside Java is refused.",
    ),
    Option(
        name="assign",
        allowed='JSON: `{"topicA":[0,1],"topicB":[2]}`',
        doc="Read exactly these partitions.",
    ),
)

_ADDRESS = (
    Option(
        name="zookeeper.connect",
        allowed="`host1:port1,host2:port2/chroot`",
        doc="The cluster's ZooKeeper. Brokers are looked up there unless `kafka.bootstrap.servers` "
        "is given; at least one of the two is required. Only the driver connects to it.",
        ours=True,
    ),
    Option(
        name="kafka.bootstrap.servers",
        allowed="`host1:port1,host2:port2`",
        doc="Some brokers, from which the others are discovered.",
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
        doc="The time limit of connecting to ZooKeeper, and of each call there, in milliseconds.",
        ours=True,
    ),
)

_ZOOKEEPER_SECURITY = tuple(
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

_BROKER_SECURITY = (
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
        "commit starts at its earliest offset. Partitions that are added later are read from "
        "their earliest offset. A batch query can't start at the latest offset.",
    ),
    Option(
        name="endingOffsets",
        queries="batch",
        allowed='`latest` or JSON: `{"topicA":{"0":50,"1":-1}}`',
        default="latest",
        doc="Where a batch query ends (exclusive). In JSON, -1 is the latest offset. An error in "
        "streaming queries.",
    ),
    Option(
        name="startingTimestamp",
        allowed="milliseconds since the epoch",
        doc="Where a new query starts, for all partitions; takes precedence over the other two. "
        "See [times](#times).",
    ),
    Option(
        name="endingTimestamp",
        queries="batch",
        allowed="milliseconds since the epoch",
        doc="Where a batch query ends, for all partitions; takes precedence over the other two. "
        "See [times](#times). An error in streaming queries.",
    ),
    Option(
        name="startingOffsetsByTimestamp",
        allowed='JSON: `{"topicA":{"0":1700000000000}}`',
        doc="Where a new query starts, by partition; takes precedence over `startingOffsets`. See "
        "[times](#times).",
    ),
    Option(
        name="endingOffsetsByTimestamp",
        queries="batch",
        allowed='JSON: `{"topicA":{"0":1700000000000}}`',
        doc="Where a batch query ends, by partition; takes precedence over `endingOffsets`. See "
        "[times](#times). An error in streaming queries.",
    ),
    Option(
        name="startingOffsetsByTimestampStrategy",
        allowed="`error` or `latest`",
        default="error",
        doc="What to do about a partition without a message as new as its starting time: fail, or "
        "start at its latest offset.",
    ),
    Option(
        name="failOnDataLoss",
        allowed="`true` or `false`",
        default="true",
        doc="Whether a query fails when messages that it should read no longer exist, or logs a "
        "warning and continues after them. The error or the warning names the offsets.",
    ),
)

_SIZE = (
    Option(
        name="maxOffsetsPerTrigger",
        queries="streaming",
        allowed="at least 1",
        doc="Read about this many messages in a batch. They are divided among the partitions in "
        "proportion to their backlogs, and none is starved.",
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
        doc="How long `minOffsetsPerTrigger` may delay a batch.",
    ),
    Option(
        name="minPartitions",
        allowed="at least 1",
        default_text="one task for each partition",
        doc="Split large partitions so that there are about this many tasks.",
    ),
    Option(
        name="maxRecordsPerPartition",
        allowed="at least 1",
        doc="Split partitions so that no task reads more offsets than this.",
    ),
    Option(
        name="includeHeaders",
        allowed="`true` or `false`",
        default="false",
        doc="Add a column `headers`. It is null for messages without headers; brokers support them "
        "from 0.11 on.",
    ),
)

_RETRIES = (
    Option(
        name="fetchOffset.numRetries",
        allowed="at least 1",
        default="3",
        doc="How often the driver requests offsets and leaders before it fails. If a broker has "
        "died or lost its leadership, it retries for `kafkaConsumer.pollTimeoutMs`.",
    ),
    Option(
        name="fetchOffset.retryIntervalMs",
        allowed="at least 0",
        default="1000",
        doc="The pause between these requests, in milliseconds. (Spark's documentation says 10, "
        "but its code has 1000, as here.)",
    ),
    Option(
        name="kafkaConsumer.pollTimeoutMs",
        allowed="at least 1",
        default="120000",
        doc="How long a task retries without progress, and the driver waits for a new leader, in "
        "milliseconds.",
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
        doc="Where to commit the query's progress for the group, so that tools show it and a "
        "consumer can take over. Requires `group.id`, and `zookeeper.connect` unless it is "
        "`kafka`. An error in batch queries.",
        ours=True,
    ),
    Option(
        name="allowLiveGroup",
        queries="streaming",
        allowed="`true` or `false`",
        default="false",
        doc="Commit offsets even if the group has live members. They commit as well, so the query "
        "and the members overwrite each other's offsets.",
        ours=True,
    ),
    Option(
        name="groupIdPrefix",
        allowed="any text",
        doc="Has no effect: a query joins no group, so no group id is generated.",
        inert=True,
    ),
)

_KAFKA = (
    Option(
        name="kafka.client.id",
        allowed="any text",
        default="zkconsumer-spark",
        doc="The client id that is sent with every request; brokers log it.",
    ),
    Option(
        name="kafka.max.partition.fetch.bytes",
        allowed="at least 1",
        default="4194304",
        doc="The maximum size of one fetch of a partition. `kafka.fetch.message.max.bytes` is the "
        "name in 0.8.",
    ),
    Option(
        name="kafka.fetch.message.growth.max.bytes",
        allowed="at least 1",
        default="104857600",
        doc="The size to which a fetch may grow for a larger message.",
        ours=True,
    ),
    Option(
        name="kafka.fetch.max.decompressed.bytes",
        allowed="at least 1",
        default="134217728",
        doc="The maximum size of one compressed message set after decompression.",
        ours=True,
    ),
    Option(
        name="kafka.request.timeout.ms",
        allowed="at least 1",
        default="30000",
        doc="The time limit of a response, in milliseconds. `kafka.socket.timeout.ms` is the name "
        "in 0.8.",
    ),
    Option(
        name="kafka.fetch.max.wait.ms",
        allowed="at least 0",
        default="500",
        doc="How long a broker may delay a response while it has no messages, in milliseconds. "
        "`kafka.fetch.wait.max.ms` is the name in 0.8.",
    ),
    Option(
        name="kafka.retry.backoff.ms",
        allowed="at least 0",
        default="10",
        doc="The first pause of a task after a transient failure, in milliseconds; it doubles up "
        "to a second. `kafka.refresh.leader.backoff.ms` is the name in 0.8.",
    ),
    Option(
        name="kafka.offsets.storage",
        allowed="`zookeeper` or `kafka`",
        default_text="`commitOffsetsTo`; else `zookeeper` if `zookeeper.connect` is given",
        doc="Where `startingOffsets=group` reads the group's offsets if the query does not commit.",
        ours=True,
    ),
    Option(
        name="kafka.isolation.level",
        allowed="`read_uncommitted` or `read_committed`",
        default="read_uncommitted",
        doc="With `read_committed`, messages of aborted transactions are skipped, and a log ends "
        "at its last stable offset, before the first open transaction. Control records are never "
        "returned. Brokers before 0.11 have no transactions.",
    ),
)

SECTIONS: Final = {
    "Topics and partitions": _TOPICS,
    "Cluster address": _ADDRESS,
    "Security of ZooKeeper connections": _ZOOKEEPER_SECURITY,
    "Security of broker connections": _BROKER_SECURITY,
    "Start and end": _RANGE,
    "Batch and task size": _SIZE,
    "Retries and time limits": _RETRIES,
    "Consumer group": _GROUP,
    "Client settings": _KAFKA,
}
"""All options, by the headings of their documentation."""

OPTIONS: Final = tuple(option for section in SECTIONS.values() for option in section)
BY_NAME: Final = {option.name.lower(): option for option in OPTIONS}
DEFAULTS: Final = {option.name: option.default for option in OPTIONS if option.default is not None}
"""The defaults of the options that have a single value as default."""
