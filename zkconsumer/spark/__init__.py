"""Kafka clusters of the ZooKeeper era as a data source of Spark: ``format("zkconsumer")``.

Spark finds the source by itself, through the module ``pyspark_zkconsumer``. What old programs need
by name is here. Names are loaded when they are first asked for: a Python worker on an executor
needs few of them.

Source: Spark's own Kafka source (``spark-sql-kafka-0-10``) for options, columns and rules.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from zkconsumer.errors import ConfigError
from zkconsumer.lazy import load_later

if TYPE_CHECKING:
    from zkconsumer.spark.legacy.kafka_utils import KafkaUtils
    from zkconsumer.spark.legacy.rdd import KafkaRDD
    from zkconsumer.spark.legacy.values import (
        Broker,
        KafkaMessageAndMetadata,
        OffsetRange,
        TopicAndPartition,
        utf8_decoder,
    )
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
    "utf8_decoder",
]


class SparkNotInstalled(ConfigError, ImportError):
    """PySpark, or the pyarrow that it needs, can't be imported."""


_MISSING = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
if _MISSING:
    raise SparkNotInstalled(
        f"zkconsumer.spark needs {' and '.join(_MISSING)}: pip install 'zkconsumer[spark]'"
    )

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
}

if not TYPE_CHECKING:
    __getattr__ = load_later(__name__, _LATER)
