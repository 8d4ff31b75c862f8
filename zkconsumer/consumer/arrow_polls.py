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
    """The polls that return Arrow columns. Thread: the caller's."""

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
            max_records: the maximum number of records; None: all that were fetched.
            columns: the columns to return, in this order; others cost nothing. None: all.

        Returns:
            Columns ``key``, ``value``, ``topic``, ``partition``, ``offset``, ``timestamp``,
            ``timestampType`` and ``headers``, named and typed as those of Spark's Kafka source. The
            records of a partition are adjacent, in the order of their offsets. There are no rows
            after the time-out. Deserialisers are not called.

        Raises:
            ImportError: pyarrow is not installed (``pip install zkconsumer[arrow]``).
            ConfigError: there is no such column, or an argument is invalid.
            IllegalState: another thread is in a call of this consumer.
            ZkConsumerError: any error that ``poll`` raises.

        Thread: one at a time, as for a poll.
        Source: this project; ``KafkaConsumer.poll`` is its model.
        """
        # pyarrow is an extra, which nothing else here needs.
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        schema = polled_batches.schema_of(columns)

        def run(starts: Starts) -> "RecordBatch":
            most = count_of(max_records, _ALL)
            return self._collected(timeout_of(timeout_ms, 0), most, schema, starts)

        return deliver(self._parts, run, lambda: polled_batches.batch_of({}, schema))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Export the records to a library that reads Arrow: ``polars.DataFrame(consumer)``.

        Each batch that the library requests is one ``poll_arrow`` from the consumer's position;
        nothing is polled before. The library's stream ends where an iteration does: after
        ``consumer_timeout_ms`` without a record, or with ``close``; a library that reads everything
        first needs that time-out. Other errors of a poll reach the library as Arrow errors with the
        same text.

        Args:
            requested_schema: a schema capsule; only its columns are returned, cast by pyarrow to
                its types. None: all columns.

        Raises:
            ValueError: it names a column that does not exist.
            pyarrow.ArrowException: a column can't be cast to the requested type.
            ImportError: pyarrow is not installed.

        Thread: one at a time, as for a poll.
        Source: Arrow's PyCapsule interface.
        """
        from zkconsumer.streams import polled_batches  # noqa: PLC0415

        return polled_batches.capsule(partial(PolledBatches, self), requested_schema)

    def _next_batch(self, schema: "Schema") -> "RecordBatch | None":
        """Return a batch with rows; None after the time-out, or if the consumer was closed."""
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
            # Before the conversion, so that positions are restored if it fails.
            starts.update(starts_of(slices))
            fit, others = polled_batches.split_by_size(slices)
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
    """Iterates over the batches of successive polls. Thread: the caller's.

    It is not a generator: a generator ends at an error, which its reader would take for the end of
    the topic. This continues after one, as an iteration does.
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
