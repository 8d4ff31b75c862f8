"""Detects the features of the installed Spark, without comparing version numbers.

Python data sources came with Spark 4.0, filters with 4.1, read limits and the notification of
Trigger.AvailableNow with 4.2. Missing classes have substitutes here, so that other modules need no
checks.
"""

import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField, StructType

__all__ = [
    "HAS_ARROW_UDFS",
    "HAS_READ_LIMITS",
    "HAS_SOURCES",
    "OLDEST_JAVA",
    "RDD",
    "DataSourceStreamArrowWriter",
    "InputPartition",
    "PipelinedRDD",
    "WriterCommitMessage",
    "is_pushing_filters",
    "takes_nested_records",
]

if TYPE_CHECKING:
    from pyspark.core.rdd import RDD, PipelinedRDD
    from pyspark.sql.datasource import (
        DataSourceStreamArrowWriter,
        InputPartition,
        WriterCommitMessage,
    )

    HAS_SOURCES = True
else:
    try:
        from pyspark.core.rdd import RDD, PipelinedRDD
    except ImportError:
        from pyspark.rdd import RDD, PipelinedRDD

    try:
        from pyspark.sql import datasource as _given
        from pyspark.sql.datasource import InputPartition, WriterCommitMessage
    except ImportError:
        _given = None

        class InputPartition:
            """A task's input; stands in for Spark's class before 4.0."""

        class WriterCommitMessage:
            """A task's result; stands in for Spark's class before 4.0."""

    HAS_SOURCES = _given is not None
    """Whether this Spark supports sources and sinks in Python at all."""

    if hasattr(_given, "DataSourceStreamArrowWriter"):
        DataSourceStreamArrowWriter = _given.DataSourceStreamArrowWriter
    elif HAS_SOURCES:

        class DataSourceStreamArrowWriter(
            _given.DataSourceStreamWriter, _given.DataSourceArrowWriter
        ):
            """Writes a stream's Arrow batches, on Spark versions without such a class."""


OLDEST_JAVA: Final = 17 if HAS_SOURCES else 11
"""The oldest Java on which this Spark, as it is used here, runs."""

HAS_READ_LIMITS: Final = find_spec("pyspark.sql.streaming.datasource") is not None
"""Whether Spark passes a stream the start of a batch, its limit, and its trigger."""

HAS_ARROW_UDFS: Final = hasattr(functions, "arrow_udf")
"""Whether user-defined functions may take and return Arrow arrays."""

_PUSHDOWN = "pyspark.sql.worker.data_source_pushdown_filters"


def is_pushing_filters() -> bool:
    """Return whether this is the process in which Spark passes filters.

    ``spark.sql.python.filterPushdown.enabled`` can't be read here, and if it is off, Spark refuses
    a reader that accepts filters. If it is on, planning runs in a separate worker.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    return _PUSHDOWN in sys.modules or (main is not None and main.name == _PUSHDOWN)


def takes_nested_records() -> bool:
    """Return whether a record in an Arrow batch may have a record as a field (Spark 3.5 on)."""
    try:
        to_arrow_type(StructType([StructField("record", StructType([]))]))
    except TypeError:
        return False
    return True
