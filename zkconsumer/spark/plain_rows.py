"""Make frames of a few plain values, which exist in the JVM alone.

``createDataFrame`` sends values through Python workers: two tasks more for each job that looks at
the frame, and the start of these processes where they are the first.

Source: Spark 3.4 ``inline`` and ``from_json``.
"""

import json
from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import from_json, inline, lit


def plain_rows(session: SparkSession, rows: Iterable[Sequence[object]], schema: str) -> DataFrame:
    """Return a frame of these rows.

    Args:
        session: of Spark.
        rows: numbers, texts and None; the plan of each query holds them, so they must be few.
        schema: as SQL, of columns of simple types: ``topic string, partition int``.
    """
    names = [column.split()[0] for column in schema.split(",")]
    held = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    structs = from_json(lit(held), f"array<struct<{schema}>>")
    return session.range(0, 1, 1, 1).select(inline(structs))
