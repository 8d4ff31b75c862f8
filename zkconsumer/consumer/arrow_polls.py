"""Makes a ``KafkaConsumer`` a source of Arrow batches: one at a time, or as a C stream."""

from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING, Self

from zkconsumer.consumer.arguments import count_of, timeout_of
from zkconsumer.consumer.handing_out import Starts, confirm_or_put_back, deliver
from zkconsumer.consumer.iteration import Iteration, Slices, starts_of
from zkconsumer.errors import ConsumerClosed

if TYPE_CHECKING:
    from zkconsumer.streams.polled_batches import RecordBatch, Schema

_ALL = 2**31 - 1


class ArrowPolls(Iteration):
    """Polls whose records are columns; no object is made for any record."""

    def poll_arrow(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        columns: Collection[str] | None = None,
    ) -> "RecordBatch":
        """Wait for records as ``poll`` does, and return them as one Arrow record batch.

        No object is made for any record.

        Args:
            timeout_ms: how long to wait, in ms, if nothing was fetched yet; 0 does not wait.
            max_records: the maximum to hand out; None: everything fetched.
            columns: the names of the columns, in their order; others cost nothing. None: all.

        Returns:
            Columns ``key``, ``value``, ``topic``, ``partition``, ``offset``, ``timestamp``,
            ``timestampType`` and ``headers``, named and typed as those of Spark's Kafka source. The
            records of a partition are adjacent, in the order of their offsets. No rows after the
            time-out. Deserialisers are not called.

        Raises:
            ImportError: there is no pyarrow (``pip install zkconsumer[arrow]``).
            ConfigError: there is no such column, or an argument is invalid.
            IllegalState: another thread is in a call of this consumer.
            ZkConsumerError: any error that ``poll`` raises.

        Thread: one at a time, as for a poll.
        Source: this project; ``KafkaConsumer.poll`` is its model.
        """
        # An extra: pyarrow need not be installed for anything else.
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        schema = polled_batches.schema_of(columns)

        def run(starts: Starts) -> "RecordBatch":
            most = count_of(max_records, _ALL)
            return self._collected(timeout_of(timeout_ms, 0), most, schema, starts)

        return deliver(self._parts, run, lambda: polled_batches.batch_of({}, schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the records to a library that reads Arrow: ``polars.DataFrame(consumer)``.

        Each batch is one of ``poll_arrow``, from the consumer's position; nothing is polled before
        the library asks, and each time it asks is a poll. The library's stream ends where an
        iteration does: after ``consumer_timeout_ms`` without a record, or with ``close``; a library
        that reads everything first needs that time-out. Other errors of a poll reach the library as
        Arrow errors with the same text.

        Args:
            requested_schema: a capsule; only its columns are made, cast by pyarrow to its types.
                None: all.

        Raises:
            ValueError: it names a column that does not exist.
            pyarrow.ArrowException: a column can't be cast so.
            ImportError: pyarrow is not installed.

        Thread: one at a time, as for a poll.
        Source: Arrow's PyCapsule interface.
        """
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        return polled_batches.capsule(partial(PolledBatches, self), requested_schema)

    def _next_batch(self, schema: "Schema") -> "RecordBatch | None":
        """Return a batch with rows; None after the time-out, or when the consumer was closed."""
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
        """Return records fetched within ``limit_ms``; put their start positions into ``starts``."""
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        parts = self._parts
        session = parts.session
        session.positions.put_back_all(session.buffer.positions())
        left: Starts = {}

        def made(slices: Slices) -> "RecordBatch":
            # Here, so that positions are restored if it fails.
            starts.update(starts_of(slices))
            fit, others = polled_batches.that_fit(slices)
            left.update(starts_of(others))
            return polled_batches.batch_of(fit, schema)

        def take() -> "RecordBatch":
            batch = parts.engine.collect_as(most, made, session.collectable())
            if confirm_or_put_back(parts, starts):
                return batch
            left.clear()
            return batch.slice(0, 0)

        batch = parts.loop.run(limit_ms, partial(session.positions.taking, starts, take))
        session.positions.put_back_all(left)
        return batch


class PolledBatches:
    """An iterator over polls.

    It is no generator, since it continues after an error, as an iteration does. A generator would
    end, and its reader would take that for the end of the topic.
    """

    def __init__(self, consumer: ArrowPolls, schema: "Schema") -> None:
        self._consumer = consumer
        self._schema = schema

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> "RecordBatch":
        # No signal handler runs between these two and the caller: see ``closing``.
        batch = self._consumer._next_batch(self._schema)  # noqa: SLF001 - of this module
        if batch is None:
            raise StopIteration
        return batch


def _nothing() -> None:
    """Return the result of an interrupted poll."""
