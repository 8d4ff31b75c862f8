"""A ``KafkaConsumer`` as a source of Arrow batches: one at a time, or as a stream of them."""

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Self

from zkconsumer.consumer.arguments import count_of, timeout_of
from zkconsumer.consumer.handing_out import Starts, deliver, is_ours_still
from zkconsumer.consumer.iteration import Iteration, Slices, starts_of
from zkconsumer.errors import ConsumerClosed

if TYPE_CHECKING:
    from zkconsumer.streams.polled_batches import RecordBatch, Schema

_ALL = 2**31 - 1


class ArrowPolls(Iteration):
    """Records as columns; no object is made for any of them."""

    def poll_arrow(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        columns: Collection[str] | None = None,
    ) -> "RecordBatch":
        """``poll``, as one Arrow record batch: no object is made for any record.

        Args:
            timeout_ms: see ``poll``.
            max_records: the most to hand out; by default all that was fetched.
            columns: the names of those to make, in their order; others cost nothing. None: all.

        Returns:
            Columns ``key``, ``value``, ``topic``, ``partition``, ``offset``, ``timestamp``,
            ``timestampType`` and ``headers``, named and typed as those of Spark's Kafka source; the
            records of a partition stand together, in the order of their offsets. No rows when the
            time was over. Deserialisers are not called.

        Raises as ``poll``; and ImportError without pyarrow (``pip install zkconsumer[arrow]``).
        """
        # An extra: who does not ask for batches need not have pyarrow.
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        schema = polled_batches.schema_of(columns)

        def run(starts: Starts) -> "RecordBatch":
            most = count_of(max_records, _ALL)
            return self._collected(timeout_of(timeout_ms, 0), most, schema, starts)

        return deliver(self._parts, run, lambda: polled_batches.batch_of({}, schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The records for any library that reads Arrow: ``polars.DataFrame(consumer)``.

        Each batch is one of ``poll_arrow``, from where the consumer stands; nothing is polled
        before the reader asks, and each time it asks is a poll. For it the stream ends where an
        iteration does: after ``consumer_timeout_ms`` without a record, or with ``close``; a reader
        that wants all before it begins needs that time-out. What else a poll raises, the reader
        gets as an error of Arrow with the same text.

        Args:
            requested_schema: a capsule; of its columns alone batches are made, cast by pyarrow to
                its types. None: all.

        Raises:
            ValueError: it names a column that there is not.
            pyarrow.ArrowException: a column can't be cast so.
            ImportError: there is no pyarrow.

        Thread: one at a time reads, as for a poll.
        Source: Arrow's PyCapsule interface.
        """
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        return polled_batches.capsule(partial(PolledBatches, self), requested_schema)

    def _next_batch(self, schema: "Schema") -> "RecordBatch | None":
        """With a row at least; None: the time is over, or the consumer was closed."""
        gate = self._parts.one_caller
        if gate.closed:
            return None
        limit_ms = self.config.consumer_timeout_ms

        def run(starts: Starts) -> "RecordBatch | None":
            batch = self._collected(None if limit_ms < 0 else limit_ms, _ALL, schema, starts)
            return batch if batch.num_rows else None

        try:
            return deliver(self._parts, run, _nothing)
        except ConsumerClosed:
            if gate.is_ending or gate.is_closing:
                return None
            raise

    def _collected(
        self, limit_ms: int | None, most: int, schema: "Schema", starts: Starts
    ) -> "RecordBatch":
        """What was fetched, or is within that time; ``starts`` gets where it begins."""
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        parts = self._parts
        session = parts.session
        session.put_back_all(session.buffer.positions())
        left: Starts = {}

        def made(slices: Slices) -> "RecordBatch":
            # In here, so that positions stay where they were if it fails.
            starts.update(starts_of(slices))
            fit, others = polled_batches.that_fit(slices)
            left.update(starts_of(others))
            return polled_batches.batch_of(fit, schema)

        def take() -> "RecordBatch":
            batch = parts.engine.collect_as(most, made, session.collectable())
            if is_ours_still(parts, starts):
                return batch
            left.clear()
            return batch.slice(0, 0)

        batch = parts.loop.run(limit_ms, partial(session.taking, starts, take))
        session.put_back_all(left)
        return batch


class PolledBatches:
    """One poll after the other.

    No generator: behind an error it goes on, as an iteration does. A generator would have ended,
    and its reader have taken that for the end of the topic.
    """

    def __init__(self, consumer: ArrowPolls, schema: "Schema") -> None:
        self._consumer = consumer
        self._schema = schema

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> "RecordBatch":
        # No handler comes between these and who asks: see ``closing``.
        batch = self._consumer._next_batch(self._schema)  # noqa: SLF001 - of this module
        if batch is None:
            raise StopIteration
        return batch


def _nothing() -> None:
    """What a poll gives that was broken off."""
