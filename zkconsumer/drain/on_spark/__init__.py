"""The engine that runs on Spark: nothing else of a drain loads it, but ``mirroring``."""

from zkconsumer.spark import need_spark

need_spark()
