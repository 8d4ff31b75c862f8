"""The engine that runs on Spark: only this and ``mirroring`` import pyspark."""

from zkconsumer.spark import need_spark

need_spark()
