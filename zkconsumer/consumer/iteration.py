"""Makes a ``KafkaConsumer`` an iterator: finds the next partition's records.

``walk`` steps from record to record.
"""

from collections.abc import Mapping
from functools import partial

from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.fetch_buffer import BufferedRecords
from zkconsumer.consumer.handing_out import Starts
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.walk import RecordIterator
from zkconsumer.errors import ConsumerClosed
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice

_CHECK_INTERVAL_MS = 10
"""How often an iteration checks that its partition is still owned."""

Slices = Mapping[TopicPartition, RecordSlice]


class Iteration(RecordIterator):
    """Yields records one by one; ends after ``consumer_timeout_ms`` without one, or with ``close``.

    All loops over a consumer share its one iterator: a loop continues where the previous one
    stopped, even after its end and after an error. A record counts as handed out when it is
    yielded: ``commit()`` in the loop's body includes it. Raises the errors of ``poll``. Thread: the
    caller's.
    """

    _parts: ConsumerComponents
    config: PollConfig

    def _find_next(self) -> bool:
        """See ``walk.PureRecordIterator``."""
        session, walk = self._parts.session, self._parts.session.walk
        walk.steps = None
        buffered = self._following()
        if buffered is None:
            return False
        walk.lease.end_at(self._parts.clock.now_ms() + _CHECK_INTERVAL_MS)
        walk.steps = buffered.steps
        # Check only after that store: a change from here on stops the walk.
        if buffered.topic_partition not in session.deliverable():
            walk.steps = None  # the process was suspended since the last check
        return True

    @public_call
    def _following(self) -> BufferedRecords | None:
        """Return the next records to iterate over; None after the time-out, or after ``close``."""
        parts = self._parts
        gate = parts.one_caller
        if gate.closed:
            return None
        try:
            gate.here.polls = gate.polled = True
            with gate:
                return self._next_buffered()
        except ConsumerClosed:
            if gate.is_ending or gate.is_closing:
                return None
            raise

    def _next_buffered(self) -> BufferedRecords | None:
        parts = self._parts
        buffer = parts.session.buffer
        buffer.clear_used_up()
        if buffer:
            # The group's work must not wait until the buffered records are used up.
            parts.loop.check()
            parts.session.turn()
        found = buffer.first(parts.session.deliverable())
        if found is None:
            timeout_ms = self.config.consumer_timeout_ms
            limit_ms = None if timeout_ms < 0 else timeout_ms
            take = partial(parts.session.positions.taking, {}, self._take_buffered)
            found = parts.loop.run(limit_ms, take)
        return found

    def _take_buffered(self) -> BufferedRecords | None:
        parts = self._parts
        session = parts.session
        found = session.buffer.first(session.deliverable())
        if found is None:

            def buffered(slices: Slices) -> BufferedRecords | None:
                try:
                    for tp, start in starts_of(slices).items():
                        records = slices[tp].records(parts.origin(tp))
                        session.buffer.put(BufferedRecords(tp, records, start))
                    if slices:
                        size_bytes = sum(part.size_bytes for part in slices.values())
                        session.buffer.on_taken(sum(map(len, slices.values())), size_bytes)
                    return session.buffer.first(slices)
                except BaseException:
                    # They will be fetched again.
                    for tp in slices:
                        session.buffer.drop(tp)
                    raise

            count = session.buffer.count_to_take(self.config.max_poll_records)
            found = parts.engine.collect_as(count, buffered, session.collectable())
        return found


def starts_of(slices: Slices) -> Starts:
    """Return the start positions of slices."""
    return {tp: PositionView(part.first_offset) for tp, part in slices.items()}
