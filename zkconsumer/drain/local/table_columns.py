"""Columns of an Iceberg table's files: a landing's, and topic and date.

Readers of other files learn these two from the path. A table's readers go by its manifests, and not
all of them put there what a file lacks.
"""

import pyarrow as pa

from zkconsumer.drain.local.columns import SCHEMA

PLACE = pa.schema([("topic", pa.dictionary(pa.int32(), pa.string())), ("date", pa.date32())])
"""The columns that a table is partitioned by. One topic a file: its name is kept once."""


def with_partition_columns(columns: pa.Schema = SCHEMA) -> pa.Schema:
    """Return a table's columns for messages with these."""
    return pa.schema([*columns, *PLACE])


def placed(rows: pa.Table, topic: str, day: int) -> pa.Table:
    """Add topic and day as columns to rows of both.

    Args:
        rows: of a landing.
        topic: its name.
        day: since the epoch.
    """
    names = pa.DictionaryArray.from_arrays(
        pa.repeat(pa.scalar(0, pa.int32()), len(rows)), pa.array([topic])
    )
    days = pa.repeat(pa.scalar(day, pa.int32()), len(rows)).cast(pa.date32())
    return rows.append_column("topic", names).append_column("date", days)
