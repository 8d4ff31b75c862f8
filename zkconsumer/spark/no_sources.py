"""Makes ``format("zkconsumer")`` an explicit error on Spark without Python data sources."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from pyspark.sql.readwriter import DataFrameReader, DataFrameWriter
from pyspark.sql.streaming.readwriter import DataStreamReader, DataStreamWriter

from zkconsumer.errors import ConfigError

_INSTEAD: dict[type[Any], str] = {
    DataFrameReader: "zkconsumer.spark.read(spark, **options)",
    DataFrameWriter: "zkconsumer.spark.write(df, **options)",
    DataStreamReader: "zkconsumer.spark.stream(spark, write=..., checkpoint=..., **options)",
    DataStreamWriter: "zkconsumer.spark.write(df, **options) in foreachBatch",
}


def refuse_format() -> None:
    """Make Spark's readers and writers refuse the name; Spark would report a missing Java class."""
    for kind, instead in _INSTEAD.items():
        kind.format = _refusing(kind.format, instead)


def _refusing(known: Callable[..., Any], instead: str) -> Callable[..., Any]:
    @wraps(known)
    def choose(self: Any, source: str) -> Any:
        if str(source).lower() == "zkconsumer":
            raise ConfigError(
                f'format("zkconsumer") needs Spark 4.0 or later; on this one use {instead}'
            )
        return known(self, source)

    return choose
