"""Converts the records of a poll to one Arrow record batch: several partitions, with headers.

Source: none; Spark 3 ``KafkaRecordToRowConverter`` for names and types, with ``includeHeaders``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

try:
    import pyarrow as pa
except ModuleNotFoundError as error:
    raise ImportError(
        "Arrow batches need the pyarrow package: pip install 'zkconsumer[arrow]'", name="pyarrow"
    ) from error

from zkconsumer.errors import IllegalArgumentError
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice
from zkconsumer.streams.arrow import MAX_COLUMN_BYTES
from zkconsumer.streams.arrow import SCHEMA as SCHEMA_OF_STREAMS
from zkconsumer.streams.arrow_capsule import capsule_of, chosen
from zkconsumer.streams.arrow_columns import assemble

HEADERS: Final = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])
)
SCHEMA: Final = SCHEMA_OF_STREAMS.append(pa.field("headers", HEADERS))
"""The schema of a stream's batches, plus headers; null for records without any."""

RecordBatch = pa.RecordBatch
Schema = pa.Schema
Slices = Mapping[TopicPartition, RecordSlice]


def schema_of(columns: object) -> pa.Schema:
    """Return the schema of these columns, in their order; None: all.

    Raises:
        IllegalArgumentError: a name is unknown or repeated, or there is none.
    """
    try:
        return chosen(SCHEMA, columns)
    except ValueError as error:
        raise IllegalArgumentError(str(error)) from None


def capsule(
    read: Callable[[pa.Schema], Iterator[pa.RecordBatch]], requested_schema: object
) -> object:
    """Make the capsule that ``__arrow_c_stream__`` returns, see ``capsule_of``."""
    return capsule_of(SCHEMA, read, requested_schema)


def split_by_size(slices: Slices) -> tuple[Slices, Slices]:
    """Split off the slices that fit into one batch, at least the first; return both parts."""
    fit: dict[TopicPartition, RecordSlice] = {}
    left: dict[TopicPartition, RecordSlice] = {}
    free_bytes = MAX_COLUMN_BYTES
    for tp, part in slices.items():
        free_bytes -= part.size_bytes
        (fit if free_bytes >= 0 or not fit else left)[tp] = part
    return fit, left


def batch_of(slices: Slices, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Make one batch of all records, those of a partition together; it may have no rows.

    Args:
        slices: the slices by partition.
        schema: the schema of the columns to make, see ``schema_of``.

    Raises:
        OverflowError: the first slice alone has more data than an int32 can count.
    """
    return assemble(schema, list(slices.items()))
