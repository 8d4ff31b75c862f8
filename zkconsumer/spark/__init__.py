"""A Spark data source for clusters of the ZooKeeper era: ``format("zkconsumer")``.

Spark finds the source by itself, through the module ``pyspark_zkconsumer``; before 4.0 it has no
Python data sources. ``read``, ``write`` and ``stream`` work the same on all versions. The names
that old programs import are here, too. Names are loaded on first use: a Python worker on an
executor needs few of them.

Source: Spark's own Kafka source (``spark-sql-kafka-0-10``) for options, columns and rules.
"""

from importlib.machinery import PathFinder
from importlib.util import find_spec
from typing import TYPE_CHECKING

from zkconsumer.errors import ConfigError
from zkconsumer.lazy import load_later

if TYPE_CHECKING:
    from zkconsumer.spark.confluent_avro import from_confluent_avro
    from zkconsumer.spark.legacy.kafka_utils import KafkaUtils
    from zkconsumer.spark.legacy.rdd import KafkaRDD
    from zkconsumer.spark.legacy.values import (
        Broker,
        KafkaMessageAndMetadata,
        OffsetRange,
        TopicAndPartition,
        utf8_decoder,
    )
    from zkconsumer.spark.programs import read, stream, write
    from zkconsumer.spark.session import build_session
    from zkconsumer.spark.source import ZkDataSource

__all__ = [
    "Broker",
    "KafkaMessageAndMetadata",
    "KafkaRDD",
    "KafkaUtils",
    "OffsetRange",
    "SparkNotInstalled",
    "TopicAndPartition",
    "ZkDataSource",
    "build_session",
    "from_confluent_avro",
    "need_spark",
    "read",
    "stream",
    "utf8_decoder",
    "write",
]


class SparkNotInstalled(ConfigError, ImportError):
    """PySpark, or the pyarrow that it needs, can't be imported."""


def need_spark() -> None:
    """Check that PySpark and pyarrow are installed; plain values of this package need neither.

    Raises:
        SparkNotInstalled: one of them is missing.
    """
    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise SparkNotInstalled(
            f"zkconsumer.spark needs {' and '.join(missing)}: pip install 'zkconsumer[spark]'"
        )


def _has_sources() -> bool:
    """Return whether this Spark has Python data sources, without importing them (slow)."""
    places, name = None, ""
    for part in ("pyspark", "sql", "datasource"):
        name = f"{name}.{part}" if name else part
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            return False
        places = spec.submodule_search_locations
    return True


if find_spec("pyspark") is not None and not _has_sources():
    from zkconsumer.spark.no_sources import refuse_format

    refuse_format()

_LATER = {
    "Broker": "legacy.values",
    "KafkaMessageAndMetadata": "legacy.values",
    "KafkaRDD": "legacy.rdd",
    "KafkaUtils": "legacy.kafka_utils",
    "OffsetRange": "legacy.values",
    "TopicAndPartition": "legacy.values",
    "utf8_decoder": "legacy.values",
    "ZkDataSource": "source",
    "build_session": "session",
    "from_confluent_avro": "confluent_avro",
    "read": "programs",
    "stream": "programs",
    "write": "programs",
}

_load = load_later(__name__, _LATER)

if not TYPE_CHECKING:

    def __getattr__(name):
        if name in _LATER:
            need_spark()
        return _load(name)
