"""Creates record batches with the columns of Spark's Kafka source from the parts of a range.

``timestamp`` is null, and ``timestampType`` -1, if the log has no timestamps (magic 0, the only
format before 0.10). ``headers`` are null if a record has none, as all of magic 0 and 1.

Source: Spark 4 ``KafkaRecordToRowConverter``.
"""

import pyarrow as pa
import pyarrow.compute as pc

from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.model import TopicPartition
from zkconsumer.streams.arrow_columns import (
    TIMESTAMP,
    RecordColumns,
    columns_of_rows,
    columns_of_runs,
    repeated_int32,
    repeated_text,
)


class RowBatches:
    """Creates the record batches of one partition of a topic. Thread: one.

    Args:
        schema: the schema of the batches: some columns of the source, in any order.
        topic_partition: the partition of the records.
    """

    def __init__(self, schema: pa.Schema, topic_partition: TopicPartition) -> None:
        self._schema = schema
        self._topic, self._partition = topic_partition
        # Headers are looked up by offset.
        self._wanted = {*schema.names, *(["offset"] if "headers" in schema.names else [])}

    def batch(self, part: RangePart) -> pa.RecordBatch:
        """Return one batch of all records of a part, in order.

        Raises:
            BufferError: the bytes were changed after they were checked.
        """
        if part.runs:
            columns = columns_of_runs(part.runs, self._wanted)
        else:
            columns = columns_of_rows(part.rows, self._wanted)
        arrays = [self._column(field, columns, part) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, field: pa.Field, columns: RecordColumns, part: RangePart) -> pa.Array:
        match field.name:
            case "topic":
                return repeated_text(self._topic, len(columns))
            case "partition":
                return repeated_int32(self._partition, len(columns))
            case "timestamp":
                return _timestamps(columns)
            case "headers":
                return _headers(columns, part, field.type)
            case name:
                return columns.column(name)


def _timestamps(columns: RecordColumns) -> pa.Array:
    if columns.timestamp_count == len(columns):
        return columns.timestamps
    if not columns.timestamp_count:
        return pa.nulls(len(columns), TIMESTAMP)
    micros = columns.timestamps.cast(pa.int64())
    return pc.if_else(pc.greater_equal(micros, 0), columns.timestamps, pa.scalar(None, TIMESTAMP))


def _headers(columns: RecordColumns, part: RangePart, kind: pa.DataType) -> pa.Array:
    headers = part.headers()
    if not headers:
        return pa.nulls(len(columns), kind)
    found = [headers.get(offset) for offset in columns.offsets.to_pylist()]
    listed = [pairs and [{"key": name, "value": value} for name, value in pairs] for pairs in found]
    return pa.array(listed, kind)
