"""The cluster in which the original's tools were run, and the runs.

Everything is defined here: topics, their numbers of messages, and the nodes of groups that never
had a consumer. So a test can derive from facts alone what a tool must have printed.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

KAFKA = "0.8.2.2"
LATER = "0.9.0.1"
"""The version whose ``ConsumerGroupCommand`` was run, because 0.8.2 has none."""

LONG = "a.topic.whose.name.has.more.than.thirty.characters"
LONG_GROUP = "a-group-whose-name-is-long"
LONG_OFFSETS = {number: 100 * number**5 for number in range(11)}
PATH = "/consumers/{}/{}/{}/{}"


class Topic(NamedTuple):
    """A topic's settings, and the replicas and number of messages of each partition."""

    replicas: Mapping[int, Sequence[int]]
    config: Mapping[str, str]
    messages: Sequence[int]


TUNED = {
    "segment.bytes": "1048576",
    "segment.ms": "86400000",
    "segment.index.bytes": "65536",
    "flush.messages": "1000",
    "flush.ms": "2000",
    "retention.bytes": "104857600",
    "retention.ms": "3600000",
    "max.message.bytes": "500000",
    "index.interval.bytes": "8192",
    "delete.retention.ms": "60000",
    "file.delete.delay.ms": "30000",
    "min.cleanable.dirty.ratio": "0.3",
    "cleanup.policy": "delete",
    "min.insync.replicas": "1",
}
"""More than twelve settings, so that Java's table of them has grown once."""

TOPICS = {
    "orders": Topic(
        {0: [0, 1], 1: [1, 0], 2: [0, 1]},
        {"retention.ms": "86400000", "max.message.bytes": "2000000", "cleanup.policy": "delete"},
        (7, 5, 0),
    ),
    LONG: Topic({number: [0] for number in range(11)}, {}, ()),
    "segments": Topic({0: [0]}, {"segment.bytes": "120"}, (1, 1, 1, 1)),
    "single": Topic({0: [1], 1: [0]}, {}, ()),
    "tuned": Topic({0: [0]}, TUNED, ()),
    "perf": Topic({0: [0]}, {}, (6000,)),
}

NODES = {
    # Consumed in part: an owner without an offset, an offset without an owner, one too far.
    PATH.format("g1", "owners", "orders", 0): "g1_vm-1795227905282-175d85c9-0",
    PATH.format("g1", "owners", "orders", 1): "g1_vm-1795227905282-175d85c9-1",
    PATH.format("g1", "offsets", "orders", 0): "3",
    PATH.format("g1", "offsets", "orders", 2): "2",
    **{PATH.format(LONG_GROUP, "offsets", LONG, n): str(o) for n, o in LONG_OFFSETS.items()},
    f"/consumers/{LONG_GROUP}/owners/{LONG}": "",
    "/consumers/without-topics/owners": "",
    "/consumers/without-topics/offsets": "",
    PATH.format("garbage", "owners", "orders", 0): "x",
    PATH.format("garbage", "offsets", "orders", 0): "abc",
    PATH.format("half-dead", "owners", "single", 0): "half-dead_x-0",
    PATH.format("half-dead", "offsets", "single", 0): "4",
    PATH.format("half-dead", "offsets", "single", 1): "0",
    # Everything that a healthy group has.
    "/consumers/healthy/ids/healthy_a": (
        '{"version":1,"subscription":{"orders":1},"pattern":"static","timestamp":"1795227905398"}'
    ),
    **{PATH.format("healthy", "owners", "orders", n): "healthy_a-0" for n in range(3)},
    **{PATH.format("healthy", "offsets", "orders", n): "0" for n in range(3)},
    # Groups to be deleted; the tool requires all three folders of each group.
    "/consumers/deleted/ids": "",
    PATH.format("deleted", "offsets", "orders", 0): "1",
    PATH.format("deleted", "owners", "orders", 0): "x",
    "/consumers/deleted-topic/ids": "",
    **{PATH.format("deleted-topic", "offsets", name, 0): "1" for name in ("orders", "single")},
    **{PATH.format("deleted-topic", "owners", name, 0): "x" for name in ("orders", "single")},
}

IMPORTED = (
    "/consumers/imported/offsets/orders/0:5\n"
    "/consumers/imported/offsets/orders/1: 6 \n"
    "/consumers/imported/offsets/orders/2:7:8\n"
    "/consumers/imported/offsets/orders/3:not a number\n"
    "/consumers/imported/offsets/orders/0:55\n"
    "/anywhere/else:1\n"
    "\n"
    "/consumers/imported/offsets/orders/4:9\n"
)
BROKEN_IMPORT = "/consumers/broken/offsets/orders/0:5\nwithout a colon\n"

CHECKER, TOPIC_COMMAND = "kafka.tools.ConsumerOffsetChecker", "kafka.admin.TopicCommand"
OFFSET_SHELL, PERFORMANCE = "kafka.tools.GetOffsetShell", "kafka.tools.ConsumerPerformance"
EXPORT, IMPORT = "kafka.tools.ExportZkOffsets", "kafka.tools.ImportZkOffsets"
VERIFY, UPDATE = "kafka.tools.VerifyConsumerRebalance", "kafka.tools.UpdateOffsetsInZK"
GROUP_COMMAND = "kafka.admin.ConsumerGroupCommand"


class Run(NamedTuple):
    """One run of a tool.

    ``{zookeeper}``, ``{brokers}`` and ``{folder}`` in its arguments are replaced when it runs.
    """

    name: str
    main_class: str
    arguments: Sequence[str]


def _checker(name: str, group: str, *more: str) -> Run:
    return Run(name, CHECKER, ("--zookeeper", "{zookeeper}", "--group", group, *more))


def _topics(name: str, *more: str) -> Run:
    return Run(name, TOPIC_COMMAND, ("--zookeeper", "{zookeeper}", *more))


def _shell(name: str, topic: str, *more: str) -> Run:
    return Run(name, OFFSET_SHELL, ("--broker-list", "{brokers}", "--topic", topic, *more))


def _groups(name: str, *more: str) -> Run:
    return Run(name, GROUP_COMMAND, ("--zookeeper", "{zookeeper}", *more))


def _zk(name: str, main_class: str, *more: str) -> Run:
    return Run(name, main_class, ("--zkconnect", "{zookeeper}", *more))


def _perf(name: str, *more: str) -> Run:
    fixed = ("--zookeeper", "{zookeeper}", "--topic", "perf", "--threads", "1")
    return Run(name, PERFORMANCE, (*fixed, *more))


HEALTHY_RUNS = (
    _topics("topics", "--list"),
    _topics("topics filtered", "--list", "--topic", "or.*|single"),
    _topics("describe", "--describe"),
    _topics("describe one", "--describe", "--topic", "orders"),
    _topics("describe none", "--describe", "--topic", "no-such-topic"),
    _topics("describe overridden", "--describe", "--topics-with-overrides"),
    _topics("describe under-replicated, none", "--describe", "--under-replicated-partitions"),
    _checker("checker", "g1"),
    _checker("checker, brokers", "g1", "--broker-info"),
    _checker("checker, wide", LONG_GROUP),
    _checker("checker, no topics", "without-topics"),
    _checker("checker, no group", "no-such-group"),
    _checker("checker, garbage", "garbage"),
    _checker("checker, a topic without offsets", "g1", "--topic", "single"),
    _zk("export one", EXPORT, "--group", "g1", "--output-file", "{folder}/one"),
    _zk(
        *("export two", EXPORT, "--group", "healthy", "--group", LONG_GROUP),
        *("--output-file", "{folder}/two"),
    ),
    _zk("import", IMPORT, "--input-file", "{folder}/imported"),
    _zk("import, broken", IMPORT, "--input-file", "{folder}/broken"),
    Run("update earliest", UPDATE, ("earliest", "{folder}/group.properties", "orders")),
    Run("update latest", UPDATE, ("latest", "{folder}/group.properties", "orders")),
    Run("update, no topic", UPDATE, ("latest", "{folder}/group.properties", "nothing")),
    Run("update, usage", UPDATE, ("newest", "{folder}/group.properties", "orders")),
    Run("verify", VERIFY, ("--zookeeper.connect", "{zookeeper}", "--group", "healthy")),
    Run("verify, no members", VERIFY, ("--zookeeper.connect", "{zookeeper}", "--group", "g1")),
    _shell("latest", "orders", "--time", "-1"),
    _shell("earliest", "orders", "--time", "-2"),
    _shell("some partitions", "orders", "--time", "-1", "--partitions", "2,0,9"),
    _shell("several offsets", "segments", "--time", "-1", "--offsets", "9"),
    _shell("before all", "orders", "--time", "1000"),
    _shell("no topic", "no-such-topic", "--time", "-1"),
    _groups("groups", "--list"),
    _groups("group", "--describe", "--group", "g1"),
    _groups("group, healthy", "--describe", "--group", "healthy"),
    _groups("group, none", "--describe", "--group", "no-such-group"),
    _groups("delete", "--delete", "--group", "deleted", "--group", "healthy", "--group", "no"),
    _groups(
        *("delete topic", "--delete", "--group", "deleted-topic", "--group", "healthy"),
        *("--group", "no", "--topic", "orders"),
    ),
    _groups("delete topic of all", "--delete", "--topic", "segments"),
    _perf("perf"),
    _perf("perf, detailed", "--show-detailed-stats", "--reporting-interval", "2000"),
    _perf(
        *("perf, other date", "--hide-header", "--date-format", "dd/MM/yy 'at' H:mm:ss.SSS"),
        *("--fetch-size", "2000000", "--messages", "400"),
    ),
)

BROKER_1_DOWN_RUNS = (
    _topics("describe under-replicated", "--describe", "--under-replicated-partitions"),
    _topics("describe unavailable", "--describe", "--unavailable-partitions"),
    _topics("describe, down", "--describe", "--topic", "orders|single"),
    _checker("checker, down", "half-dead", "--broker-info"),
    _groups("group, down", "--describe", "--group", "half-dead"),
    _shell("down", "single", "--time", "-1"),
    _topics("delete single", "--delete", "--topic", "single"),
    _topics("delete single again", "--delete", "--topic", "single"),
    _topics("delete nothing", "--delete", "--topic", "nothing"),
    _topics("topics, down", "--list"),
)
