"""The features by Kafka version: the cells that the tests assert and docs/versions.md shows.

``python -m tests.interop.version_matrix`` writes the page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from zkconsumer.sandbox import VERSIONS

PAGE = Path(__file__).parents[2] / "docs" / "versions.md"


class Cell(StrEnum):
    """The support of a feature by a version, as the page shows it."""

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
    """Return one cell for versions before ``first``, and another from it on."""
    names = list(VERSIONS)
    at = names.index(first)
    return {name: before if index < at else since for index, name in enumerate(names)}


_EVERYWHERE = dict.fromkeys(VERSIONS, Cell.YES)


@dataclass(frozen=True, slots=True)
class Feature:
    """A row of the table.

    Attributes:
        name: its name on the page.
        test: the function that asserts all of its cells.
        cells: by Kafka version.
        module: where that function is.
    """

    name: str
    test: str
    cells: Mapping[str, Cell]
    module: str = "tests.interop.test_version_matrix"


FEATURES: Mapping[str, Feature] = {
    "share": Feature(
        "two members share a topic, each message is delivered once, offsets in ZooKeeper",
        "test_two_members_share_a_topic_and_one_takes_over",
        _EVERYWHERE,
    ),
    "leave": Feature(
        "one member leaves, the other continues without gaps or duplicates",
        "test_two_members_share_a_topic_and_one_takes_over",
        _EVERYWHERE,
    ),
    "restart": Feature(
        "a restarted member continues where it stopped",
        "test_a_member_that_rejoins_continues_where_it_was",
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
        "reading what this version's own producer writes (magic on disk)",
        "test_records_of_the_versions_own_producer_are_read",
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
        "the version of Fetch that streams use ²",
        "test_streams_use_the_newest_fetch_version",
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
        "test_committed_records_are_read_as_java_does",
        _from("0.11.0.3", Cell.ABSENT),
        f"{_COORDINATED}.test_transactions",
    ),
    "writing": Feature(
        "writing with our producer: timestamps from 0.10 on, headers from 0.11, zstd from 2.1",
        "test_every_version_stores_what_we_write",
        _EVERYWHERE,
        f"{_COORDINATED}.test_every_version",
    ),
    "idempotent": Feature(
        "our idempotent producer, as used by the mirror",
        "test_an_idempotent_producer_numbers_its_batches",
        _from("0.11.0.3", Cell.ABSENT),
        f"{_COORDINATED}.test_every_version",
    ),
    "kerberos": Feature(
        "reading and writing with Kerberos (`sasl_mechanism=GSSAPI`)",
        "test_a_producer_and_a_group",
        _from("0.9.0.1", Cell.ABSENT),
        "tests.integration.net.test_kerberos",
    ),
}
"""The features of ``KafkaConsumer``; tests run only on versions with YES."""

_HEAD = """\
# Kafka versions

Both consumers have been tested with real brokers, each version with the ZooKeeper that it ships
with. Every cell is asserted by tests in `tests/interop` (Kerberos: in `tests/integration/net`),
which run on each version whose cell is not empty (CI runs some of them, `make test-versions` the
others); the tables are generated from these assertions (`python -m tests.interop.version_matrix`).

## Groups in ZooKeeper: `ZookeeperConsumerConnector`

"""

_TAIL = """
`-`: this version of Kafka does not have the feature.

On all versions, a topic that was deleted and created again is distinguished from the former one, by
ZooKeeper. [Decision 0041](decisions/0041-topics-made-anew.md) says in which cases that is
impossible.

¹ These brokers don't support lz4, which was added in 0.8.2: they reject the messages, and the
producer gets error -1. There is nothing to consume.

² Brokers of 0.8 and 0.9, which are recognised by their registration in ZooKeeper, get the request
versions of 0.8, without ApiVersions. Connections to later brokers negotiate, and fetch in the
newest version that identifies topics by name.

³ Brokers store offsets since 0.8.2. Older ones close the connection when they receive a request for
a coordinator, and the member does not join: it raises `RebalanceFailed`, which says that offsets in
Kafka need 0.8.2, and what to set instead.

From 0.10 on, brokers store newer formats than 0.8's (the number in brackets is the magic byte on
disk). They are fetched as they are stored: records have their timestamps, and brokers convert
nothing. A stream delivers all records of transactions, including aborted ones, as the original
does.

With round-robin, wildcards and topics whose names have the same Java hash (`Aa` and `BB`), the
assignment follows the order in which ZooKeeper lists the topics, as in Kafka 0.8.2. Servers of an
ensemble that run on Java 7 or earlier may list such names in different orders; members that are
connected to different servers then disagree, as the original's members do.
[Decision 0037](decisions/0037-order-of-topics-and-threads.md) records what is known about that
order.

## Groups with a coordinator: `KafkaConsumer`

"""

_POLL_TAIL = """
`-`: this version of Kafka, or its Java consumer, does not have the feature. What its brokers don't
support is refused at once, with an error that names the alternative: a group before 0.9 (use
`zookeeper_connect`, with `offsets_storage="kafka"` if its offsets are in Kafka), a
`group_instance_id` before 2.3.

The offsets of a group whose consumer assigns partitions to itself are stored in Kafka from 0.8.2
on, and in ZooKeeper through the brokers with 0.8.1, as kafka-python does. 0.8.0 can't store them.

The version of the brokers need not be configured: connections negotiate, and brokers that are too
old for that are detected. Records are fetched in the format that they are stored in, with their
timestamps and headers.
"""

_WATCHING = """
## Reading a cluster without ZooKeeper

`lag`, `groups`, `verify`, `topics`, `get-offset`, `offsets`, `doctor`, `serve` and the metrics \
with `--bootstrap-server` alone ([tools](tools.md)):

| Kafka | what is shown |
|---|---|
| 4.x, and 3.3 to 3.9 without a ZooKeeper | everything: groups of the classic protocol \
and of KIP-848 (their members and owners from 3.7 on, the first version that describes \
them); the name and state of share and streams groups |
| 0.10 to 3.9 with a ZooKeeper | groups at coordinators; those in ZooKeeper are reported as \
unknown |
| 0.9 | the same, but the controller is unknown, and offline replicas are noticed, but not \
listed |
| 0.8 | topics and logs; its brokers can't list groups, which is reported as a part that could not \
be read |

Asserted on 4.1.0, on 3.9.1 with and without ZooKeeper, over TLS and SCRAM, and on 2.8.2 and \
0.10.2.2 by `tests/integration/cli/test_without_zookeeper.py` and \
`tests/integration/net/test_secure_tools.py`, in comparison
with each version's own `kafka-consumer-groups --describe`.
"""


_SPARK = """
## Spark

| | 3.4, 3.5 | 4.0 | 4.1 | 4.2, 4.3 |
|---|:-:|:-:|:-:|:-:|
| `zkconsumer.spark.read`, `write` and `stream`; the drain; `KafkaUtils` | yes ¹ | yes | yes | yes |
| `drain --decode`, `--format iceberg` on Spark | yes ⁴ | yes ⁴ | yes ⁴ | yes ⁴ |
| `format("zkconsumer")`: batches, streams, both sinks | no ² | yes | yes | yes |
| filters on `topic`, `partition` and `offset` limit what is fetched | no | no | yes | yes |
| a stream obeys `maxOffsetsPerTrigger`, `minOffsetsPerTrigger`, `maxTriggerDelay` | yes | yes | \
yes | yes |
| `availableNow` with `maxOffsetsPerTrigger` reads everything available | by `stream` | \
by `stream` ³ | by `stream` ³ | yes |
| the progress of a stream includes the log ends | - | no | no | yes |

¹ pandas is also required: Spark's `mapInArrow` imports it, although it processes no row. The \
offsets to read are fixed when `read` is called.

² The error is one line that names `zkconsumer.spark.read` if `zkconsumer.spark` was imported; \
otherwise it is Java's `ClassNotFoundException`, which only a jar could change, and none is \
required ([0067](decisions/0067-every-spark-from-3-4.md)).

³ Spark's own engine does not tell the source about its trigger there: the query ends after one \
batch of that size, and says so in the driver's log. `stream` makes these batches itself, for \
which it needs pandas. \
If `spark.sql.streaming.triggerAvailableNowWrapper.enabled` makes Spark request \
the end of a batch before it reports the position of the query, the query is refused.

⁴ pandas is required on each version, again because of `mapInArrow`. Iceberg tables are written by \
pyiceberg on Spark, too, never by Iceberg's own Spark writer, even if the session has it: that one \
may write a batch twice
([0078](decisions/0078-spark-decodes-and-writes-tables.md)). Spark 3.4 accepts no nested records \
from a Python task: a drain that decodes such values there ends with a line that names \
`--engine local`, which supports them.

A checkpoint of `stream` works with all of these versions. No Spark up to 4.3 tells a source in \
Python which columns a query needs: a schema with fewer columns saves the work for the others.

Asserted by `make test-spark-versions` (`tests/spark/test_spark_versions.py`).
"""


def page() -> str:
    """Return the text of docs/versions.md."""
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
