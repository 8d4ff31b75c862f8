"""Creates frames of a few plain values in the JVM alone.

``createDataFrame`` sends values through Python workers, which costs two more tasks for each job
that uses the frame, and perhaps the start of these processes.

Source: Spark 3.4 ``inline`` and ``from_json``.
"""

import json
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import from_json, inline, lit


def plain_rows(session: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """Return a frame of these rows.

    Args:
        session: the Spark session.
        rows: a few rows of numbers, texts and None; the plan of each query contains them.
        schema: the schema as SQL, with simple types: ``topic string, partition int``.
    """
    names = [column.split()[0] for column in schema.split(",")]
    held = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    structs = from_json(lit(held), f"array<struct<{schema}>>")
    return session.range(0, 1, 1, 1).select(inline(structs))
