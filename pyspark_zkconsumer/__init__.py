"""What Spark looks for: a module ``pyspark_*`` with a ``DefaultSource`` needs no registration."""

from zkconsumer.spark.source import ZkDataSource as DefaultSource

__all__ = ["DefaultSource"]
