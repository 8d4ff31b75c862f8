"""What works against which Kafka: the cells that the tests assert and docs/versions.md shows.

``python -m tests.interop.version_matrix`` writes the page anew.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from zkconsumer.sandbox import VERSIONS

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"


class Cell(StrEnum):
    """What one version makes of one feature, as the page says it."""

    YES = "yes"
    MAGIC_0 = "yes (0)"
    MAGIC_1 = "yes (1)"
    MAGIC_2 = "yes (2)"
    REFUSED_BY_BROKER = "no ¹"
    FETCH_0 = "0"
    FETCH_3 = "3"
    FETCH_5 = "5"
    FETCH_7 = "7"
    FETCH_12 = "12"
    NO_COORDINATOR = "no ³"
    ABSENT = "-"


def _from(first: str, before: Cell, since: Cell = Cell.YES) -> dict[str, Cell]:
    """One cell up to a version, another from it on."""
    names = list(VERSIONS)
    at = names.index(first)
    return {name: before if index < at else since for index, name in enumerate(names)}


_EVERYWHERE = dict.fromkeys(VERSIONS, Cell.YES)


@dataclass(frozen=True, slots=True)
class Feature:
    """A row of the table.

    Attributes:
        name: what the page calls it.
        test: the function that asserts every one of its cells.
        cells: by Kafka version.
        module: where that function is.
    """

    name: str
    test: str
    cells: Mapping[str, Cell]
    module: str = "tests.interop.test_version_matrix"


FEATURES: Mapping[str, Feature] = {
    "share": Feature(
        "two members share a topic, all of it comes once, offsets in ZooKeeper",
        "test_two_members_share_a_topic_and_hand_it_over",
        _EVERYWHERE,
    ),
    "leave": Feature(
        "one leaves, the other goes on without a gap or a repeat",
        "test_two_members_share_a_topic_and_hand_it_over",
        _EVERYWHERE,
    ),
    "restart": Feature(
        "a member that comes back goes on where it was",
        "test_a_member_that_comes_back_goes_on_where_it_was",
        _EVERYWHERE,
    ),
    "reset": Feature(
        "an offset outside of the log is reset",
        "test_an_offset_outside_of_the_log_is_reset",
        _EVERYWHERE,
    ),
    "kafka": Feature(
        "offsets in Kafka (`offsets.storage=kafka`)",
        "test_offsets_move_into_kafka_and_back",
        _from("0.8.2.2", Cell.NO_COORDINATOR),
    ),
    "dual": Feature(
        "from ZooKeeper to Kafka and back (`dual.commit.enabled`)",
        "test_offsets_move_into_kafka_and_back",
        _from("0.8.2.2", Cell.NO_COORDINATOR),
    ),
    "scala": Feature(
        "a group shared with this version's own ZooKeeper consumer",
        "test_the_versions_own_consumer_shares_the_group",
        _from("2.8.2", Cell.YES, Cell.ABSENT),
    ),
    "own": Feature(
        "what this version's own producer writes (magic on disk)",
        "test_what_the_versions_own_producer_writes_is_read",
        _from("0.10.2.2", Cell.MAGIC_0, Cell.MAGIC_1)
        | dict.fromkeys(("0.11.0.3", "1.1.1", "2.8.2", "3.9.1"), Cell.MAGIC_2),
    ),
    "gzip": Feature("gzip", "test_a_compressed_topic_is_read", _EVERYWHERE),
    "snappy": Feature("snappy", "test_a_compressed_topic_is_read", _EVERYWHERE),
    "lz4": Feature(
        "lz4",
        "test_a_compressed_topic_is_read",
        _from("0.8.2.2", Cell.REFUSED_BY_BROKER),
    ),
    "zstd": Feature(
        "zstd",
        "test_a_zstd_topic_is_read",
        _from("2.8.2", Cell.ABSENT),
    ),
    "fetch": Feature(
        "the version of Fetch that streams ask in ²",
        "test_streams_ask_in_the_newest_fetch",
        _from("0.10.2.2", Cell.FETCH_0, Cell.FETCH_12)
        | {"0.10.2.2": Cell.FETCH_3, "0.11.0.3": Cell.FETCH_5, "1.1.1": Cell.FETCH_7},
    ),
}

_COORDINATED = "tests.interop.coordinated"

POLL_FEATURES: Mapping[str, Feature] = {
    "no group": Feature(
        "reading chosen partitions without a group",
        "test_partitions_are_read_without_a_group",
        _EVERYWHERE,
        f"{_COORDINATED}.test_every_version",
    ),
    "eager": Feature(
        "a group shared with this version's Java consumer, and with kafka-python, in both orders",
        "test_an_eager_group_in_both_orders",
        _from("0.9.0.1", Cell.ABSENT),
        f"{_COORDINATED}.test_with_others",
    ),
    "cooperative": Feature(
        "the same, rebalancing cooperatively",
        "test_a_cooperative_group_in_both_orders",
        _from("2.8.2", Cell.ABSENT),
        f"{_COORDINATED}.test_with_others",
    ),
    "describe": Feature(
        "this version's `kafka-consumer-groups --describe` shows our members",
        "test_the_versions_own_tool_describes_us",
        _from("0.9.0.1", Cell.ABSENT),
        f"{_COORDINATED}.test_describe",
    ),
    "static": Feature(
        "a static member restarts without a rebalance",
        "test_a_static_member_restarts_without_a_rebalance",
        _from("2.8.2", Cell.ABSENT),
        f"{_COORDINATED}.test_faults",
    ),
    "transactions": Feature(
        "transactions of this version's Java producer, with `read_committed`",
        "test_what_is_committed_is_read_as_java_does",
        _from("0.11.0.3", Cell.ABSENT),
        f"{_COORDINATED}.test_transactions",
    ),
    "writing": Feature(
        "what our producer writes: timestamps from 0.10 on, headers from 0.11, zstd from 2.1",
        "test_what_we_write_is_kept",
        _EVERYWHERE,
        f"{_COORDINATED}.test_every_version",
    ),
    "idempotent": Feature(
        "our producer, idempotent as in the mirror, is kept account of",
        "test_an_idempotent_producer_is_kept_account_of",
        _from("0.11.0.3", Cell.ABSENT),
        f"{_COORDINATED}.test_every_version",
    ),
    "kerberos": Feature(
        "reading and writing with tickets of Kerberos (`sasl_mechanism=GSSAPI`)",
        "test_a_producer_and_a_group",
        _from("0.9.0.1", Cell.ABSENT),
        "tests.integration.net.test_kerberos",
    ),
}
"""What ``KafkaConsumer`` does, by Kafka version; only tests with YES run on a version."""

_HEAD = """\
# Kafka versions

The consumers against real brokers, each with the ZooKeeper it ships with. Every cell is asserted by
tests in `tests/interop` (Kerberos: in `tests/integration/net`), which run on each version that the
cell is not empty for (CI runs some of them, `make test-versions` the others); the tables are
printed from what they assert (`python -m tests.interop.version_matrix`).

## Groups in ZooKeeper: `ZookeeperConsumerConnector`

"""

_TAIL = """
`-`: that Kafka has nothing of the kind.

A topic that is deleted and created again is told from the former one on all of them, by ZooKeeper:
see [decision 0041](decisions/0041-topics-made-anew.md), also for where nothing tells.

¹ These brokers don't know lz4 (it came with 0.8.2): they refuse to store the messages, and the
producer hears error -1. There is nothing to consume.

² Brokers of 0.8 and 0.9, which ZooKeeper tells apart, are sent what 0.8 knows, and no question. Of
others each connection asks what they serve, and fetches in the newest version that names topics by
their names.

³ Brokers keep offsets since 0.8.2. Older ones close the connection at the question for a
coordinator, and the member does not join: it raises `RebalanceFailed`, which says that offsets in
Kafka need 0.8.2, and what to set instead.

From 0.10 on the brokers store other formats than 0.8's (the number in brackets is the magic byte on
disk), and hand them out as they lie there: records have their timestamps, and brokers convert
nothing. Of transactions a stream sees all records, whatever became of them, as the original does.

By round-robin, wildcards and topics whose names have the same Java hash (`Aa` and `BB`) are shared
with Kafka 0.8.2's members in the order in which ZooKeeper lists the topics. Servers of an ensemble
that run on Java 7 or earlier may list such names differently; members connected to different ones
then disagree, the original's among themselves, too. What is known of that order stands in
[decision 0037](decisions/0037-order-of-topics-and-threads.md).

## Groups that brokers coordinate: `KafkaConsumer`

"""

_POLL_TAIL = """
`-`: that Kafka, or its Java consumer, has nothing of the kind. What its brokers can't do is refused
at once, with an error that says what to do instead: a group before 0.9 (share one by
`zookeeper_connect`, with `offsets_storage="kafka"` where its offsets are in Kafka), a
`group_instance_id` before 2.3.

Offsets of a group whose consumer assigns partitions to itself are kept in Kafka from 0.8.2 on, and
in ZooKeeper, by way of the brokers, with 0.8.1: where kafka-python has them. 0.8.0 keeps none.

Nobody says which version a broker has: it is asked, and where it is too old for the question, that
is found out, too. Records come in the format that they are stored in, with timestamps and headers
where there are any.
"""

_WATCHING = """
## Watching without a ZooKeeper

`lag`, `groups`, `verify`, `topics`, `get-offset`, `offsets`, `doctor`, `serve` and the metrics \
with `--bootstrap-server` alone ([tools](tools.md)):

| Kafka | what is seen |
|---|---|
| 4.x, and 3.3 to 3.9 without a ZooKeeper | all that there is: groups of the classic protocol \
and of KIP-848 (members and owners of these from 3.7 on, where DescribeGroups knows nothing of \
them); of share and streams groups the name and the state |
| 0.10 to 3.9 with a ZooKeeper | groups at coordinators; those in ZooKeeper are unknown, and \
said to be |
| 0.9 | the same; nobody tells which broker is the controller, and replicas that are away are \
missed, but not named |
| 0.8 | topics and logs; its brokers list no groups, so these are a part that can't be read |

Asserted on 4.1.0, on 3.9.1 both ways, over TLS and SCRAM, and on 2.8.2 and 0.10.2.2 by \
`tests/integration/cli/test_without_zookeeper.py` and \
`tests/integration/net/test_secure_tools.py`, side by side
with each version's own `kafka-consumer-groups --describe`.
"""


_SPARK = """
## Spark

| | 3.4, 3.5 | 4.0 | 4.1 | 4.2, 4.3 |
|---|:-:|:-:|:-:|:-:|
| `zkconsumer.spark.read`, `write` and `stream`; the drain; `KafkaUtils` | yes ¹ | yes | yes | yes |
| `drain --decode`, `--format iceberg` on Spark | yes ⁴ | yes ⁴ | yes ⁴ | yes ⁴ |
| `format("zkconsumer")`: batches, streams, both sinks | no ² | yes | yes | yes |
| filters on `topic`, `partition` and `offset` cut what is fetched | no | no | yes | yes |
| a stream keeps `maxOffsetsPerTrigger`, `minOffsetsPerTrigger`, `maxTriggerDelay` | yes | yes | \
yes | yes |
| `availableNow` with `maxOffsetsPerTrigger` reads all that is there | by `stream` | \
by `stream` ³ | by `stream` ³ | yes |
| a stream's progress tells where the logs end | - | no | no | yes |

¹ pandas is needed besides: Spark's `mapInArrow` asks for it, though no row goes through it. What \
is read is fixed when `read` is called.

² One line that names `zkconsumer.spark.read`, once `zkconsumer.spark` was imported; else Java's \
`ClassNotFoundException`, which only a jar could change: none is asked for \
([0067](decisions/0067-every-spark-from-3-4.md)).

³ Spark's own engine does not tell the source of its trigger there: the query ends after one batch \
of that size, and says so in the driver's log. `stream` makes these batches itself, for which it \
needs pandas. \
Where `spark.sql.streaming.triggerAvailableNowWrapper.enabled` makes Spark \
request the end of a batch before it tells where the query resumes, the query is refused.

⁴ pandas is needed on each, by the same `mapInArrow`. Iceberg tables are written by pyiceberg \
here, too, never through Iceberg's own Spark writer, even where the session has it: that one may \
put a batch there twice
([0078](decisions/0078-spark-decodes-and-writes-tables.md)). Spark 3.4 takes no record within a \
record from a Python task: a drain that decodes such values there ends with a line that names \
`--engine local`, which goes on with it.

A checkpoint of `stream` goes on under every one of them. No Spark up to 4.3 tells a source in \
Python which columns a query wants: give a schema with some of them, \
and the others are not created.

Asserted by `make test-spark-versions` (`tests/spark/test_spark_versions.py`).
"""


def page() -> str:
    """The text of docs/versions.md."""
    tables = _HEAD + _table(FEATURES) + _TAIL + _table(POLL_FEATURES) + _POLL_TAIL
    return tables + _WATCHING + _SPARK


def _table(features: Mapping[str, Feature]) -> str:
    names = list(VERSIONS)
    rows = [
        ["", *names],
        ["---", *(":-:" for _ in names)],
        *(
            [feature.name, *(feature.cells[name].value for name in names)]
            for feature in features.values()
        ),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
