"""Builds record batches with the columns of Spark's Kafka source from the records of a range.

``timestamp`` is null, and ``timestampType`` -1, if a record has no timestamp (magic 0, all that
brokers before 0.10 write). ``headers`` are null if a record has none; records of magic 0 and 1
can't have any.

Source: Spark 4 ``KafkaRecordToRowConverter``.
"""

from collections.abc import Mapping

import pyarrow as pa

from zkconsumer.fetch.range_parts import RangePart
from zkconsumer.model import TopicPartition
from zkconsumer.records.rows import Headers
from zkconsumer.streams.arrow_columns import Parts, assemble, columns_of_runs


def row_batch(
    schema: pa.Schema, topic_partition: TopicPartition, part: RangePart
) -> pa.RecordBatch:
    """Return one batch of all records of a part, in order.

    Args:
        schema: the schema of the batch: some columns of the source, in any order.
        topic_partition: the topic-partition of the records.
        part: the records.

    Raises:
        BufferError: the bytes were changed after the check.
    """
    return assemble(schema, [(topic_partition, _RangePiece(part))])


class _RangePiece:
    """A ``RecordPiece`` of a range, which keeps headers by offset."""

    def __init__(self, part: RangePart) -> None:
        self._part = part

    def __len__(self) -> int:
        return len(self._part)

    def parts(self) -> Parts:
        """See ``RecordPiece``."""
        return self._part.runs or [list(self._part.rows)]

    def headers(self) -> Mapping[int, Headers]:
        """See ``RecordPiece``."""
        found = self._part.headers()
        if not found:
            return {}
        if self._part.runs:
            offsets = columns_of_runs(self._part.runs, {"offset"}).arrays["offset"].to_pylist()
        else:
            offsets = [row[0] for row in self._part.rows]
        return {index: found[offset] for index, offset in enumerate(offsets) if offset in found}
