"""A ``KafkaConsumer`` as an iterator: what is done between two stretches of records.

What is done for each record is in ``walk``.
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
from zkconsumer.fetch.polled.starts import PositionView
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice

_LOOK_MS = 10
"""So often an iteration looks whether its partition is still ours."""

Slices = Mapping[TopicPartition, RecordSlice]


class Iteration(RecordIterator):
    """Record after record; ends after ``consumer_timeout_ms`` without one, or with ``close``.

    There is one, which all loops over a consumer share: the next loop goes on where the one before
    stopped, also behind its end and behind what it raised. A record counts as handed out when it is
    given: ``commit()`` in the loop's body commits it among the others. Raises as ``poll``.
    """

    _parts: ConsumerComponents
    config: PollConfig

    def _look_around(self) -> bool:
        """See ``walk.PureRecordIterator``."""
        session, walk = self._parts.session, self._parts.session.walk
        walk.steps = None
        range_ = self._following()
        if range_ is None:
            return False
        walk.lease.end_at(self._parts.clock.now_ms() + _LOOK_MS)
        walk.steps = range_.steps
        # Behind that store: who changes something from here on is heard.
        if range_.topic_partition not in session.deliverable():
            walk.steps = None  # the process was stopped since it was looked at
        return True

    @public_call
    def _following(self) -> BufferedRecords | None:
        """Records to hand out one by one; None: the time is over, or the consumer was closed."""
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
            # In the middle of what was taken: the group is not to wait for the end of it.
            parts.loop.check()
            parts.session.turn()
        found = buffer.first(parts.session.deliverable())
        if found is None:
            timeout_ms = self.config.consumer_timeout_ms
            limit_ms = None if timeout_ms < 0 else timeout_ms
            take = partial(parts.session.taking, {}, self._take_buffered)
            found = parts.loop.run(limit_ms, take)
        return found

    def _take_buffered(self) -> BufferedRecords | None:
        parts = self._parts
        session = parts.session
        found = session.buffer.first(session.deliverable())
        if found is None:

            def shelved(slices: Slices) -> BufferedRecords | None:
                try:
                    for tp, start in starts_of(slices).items():
                        records = slices[tp].records(parts.origin(tp))
                        session.buffer.put(BufferedRecords(tp, records, start))
                    return session.buffer.first(slices)
                except BaseException:
                    # They are to be fetched once more, then.
                    for tp in slices:
                        session.buffer.drop(tp)
                    raise

            found = parts.engine.collect_as(
                self.config.max_poll_records, shelved, session.collectable()
            )
        return found


def starts_of(slices: Slices) -> Starts:
    """Where what was taken begins."""
    return {tp: PositionView(part.first_offset) for tp, part in slices.items()}
