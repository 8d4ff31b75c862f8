"""Kafka clusters of the ZooKeeper era as a data source of Spark: ``format("zkconsumer")``.

Spark finds the source by itself, through the module ``pyspark_zkconsumer``. What old programs need
by name is here. Names are loaded when they are first asked for: a Python worker on an executor
needs few of them.

Source: Spark's own Kafka source (``spark-sql-kafka-0-10``) for options, columns and rules.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from zkconsumer.errors import ConfigError

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

_HOMES = {
    "Broker": "zkconsumer.spark.legacy.values",
    "KafkaMessageAndMetadata": "zkconsumer.spark.legacy.values",
    "KafkaRDD": "zkconsumer.spark.legacy.rdd",
    "KafkaUtils": "zkconsumer.spark.legacy.kafka_utils",
    "OffsetRange": "zkconsumer.spark.legacy.values",
    "TopicAndPartition": "zkconsumer.spark.legacy.values",
    "utf8_decoder": "zkconsumer.spark.legacy.values",
    "ZkDataSource": "zkconsumer.spark.source",
    "build_session": "zkconsumer.spark.session",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)
