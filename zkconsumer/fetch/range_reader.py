"""Read fixed ranges of offsets from the leaders, without a group or ZooKeeper.

For Spark's tasks and ``replay``. The caller drives the core of polled fetching a step at a time.
The next request is sent before the last response is handed out, so that the broker works while
the caller does. While a largest request would not reach the end of a range, the pump fetches ahead,
in a thread that ends with its run (0122).

Source: Spark 1.x ``KafkaRDD`` (the simple consumer's protocol), Spark 4 ``KafkaDataConsumer``.
"""

import contextlib
import logging
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    LocalProtocolError,
    LogTruncated,
    OffsetOutOfRange,
    PartitionFailed,
    ProtocolError,
    TopicAuthorizationFailed,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.core.arrivals import is_reported_only
from zkconsumer.fetch.core.completed import PackedSet, unpack_piece
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.fetch_connection import NO_WAIT
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.positions import PositionResolver
from zkconsumer.fetch.core.pump_maker import MakePump, pump_maker
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.range_connection import RangeConnection
from zkconsumer.fetch.range_parts import LostRange, RangePart, parts_of
from zkconsumer.fetch.range_pump import RangePump
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeBounds, RangeLosses
from zkconsumer.fetch.tries import Tries
from zkconsumer.model import Broker, OffsetRange
from zkconsumer.records.transactions import readable_end
from zkconsumer.scope import wait_ms

__all__ = ["LostRange", "RangePart", "RangeReader", "RangeSettings"]

log = logging.getLogger(__name__)

_Yielded = Iterator[RangePart | LostRange]


class RangeReader:
    """Read ranges of offsets. Thread: any; each range is read by one caller at a time.

    Several ranges may be read at once. While much of a range is left, another thread fetches it.

    Example::

        reader = RangeReader(client, settings=RangeSettings())
        for part in reader.read(OffsetRange(topic_partition=tp, from_offset=0, until_offset=100)):
            ...

    Args:
        client: finds leaders, and keeps the connections; the caller closes it. If its timeouts
            allow no second round, the settings alone decide about retries.
        settings: sizes, times, and what to do about losses.
        clock: for time limits of retries and lookups.
        pause: waits for a number of milliseconds.
        make_pump: makes the pump of a connection; None: the native core's, if there is one.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        settings: RangeSettings,
        clock: Clock | None = None,
        pause: Callable[[int], None] = wait_ms,
        make_pump: MakePump | None = None,
    ) -> None:
        self.client = client
        self.settings = settings
        self.clock = clock or SystemClock()
        self.pause = pause
        self.make_pump = make_pump or pump_maker()

    def read(
        self, wanted: OffsetRange, *, leader: Broker | None = None
    ) -> Generator[RangePart | LostRange, None, None]:
        """Read a range: every record of it that the log holds, once, in order.

        To stop early, close the iterator (a generator), which releases the connection and ends the
        thread, if there is one.

        Args:
            wanted: the range.
            leader: the last known leader, tried first. None: it is looked up.

        Yields:
            Parts with records, and lost ranges between them (without ``fail_on_data_loss``). Gaps
            that compaction left are not reported.

        Raises:
            DataLost: the log lacks offsets of the range, with ``fail_on_data_loss``.
            PartitionFailed: an entry can't be read; the broker refuses to serve the partition; or
                no broker served it within the time limits of the settings.
            MessageTooLarge: an entry is larger than the largest fetch allowed.
            AuthenticationFailed: broker and client don't authenticate each other.
            UnsupportedVersion: a broker shares no protocol version with the client.
            ConsumerForked: a forked child continues a reading of its parent.
            ZkConsumerError: the fetching thread died, of a fault of ours or without memory.
        """
        reading = _RangeReading(wanted, self, leader)
        with contextlib.closing(reading):
            while not reading.is_done:
                for part in reading.turn():
                    if isinstance(part, LostRange):
                        log.warning("%s is lost: %s", part.range_, part.reason)
                    yield part


class _Marks(NamedTuple):
    """Hold a partition's state before an exchange, to see afterwards what the broker responded.

    Attributes:
        source: the broker; None: none is known.
        responses: the number of responses before it.
        suspect_offset: see ``PartitionState``.
    """

    source: Broker | None
    responses: int
    suspect_offset: int | None


class _RangeReading:
    """Read one range."""

    def __init__(self, wanted: OffsetRange, reader: RangeReader, leader: Broker | None) -> None:
        self._wanted = wanted
        self._reader = reader
        self._bounds = RangeBounds(wanted, reader.settings)
        self._losses = RangeLosses(wanted, reader.settings)
        self._tries = Tries(wanted.topic_partition, reader.settings, reader.clock, reader.pause)
        self._fetching = reader.settings.of_core()
        # Brokers wait in real time, whatever clock limits the retries.
        self._clock = SystemClock()
        self._shared = SharedFetchState(PartitionStates(self._fetching), self._clock, self._follow)
        # The reader finds the leader itself, before its next step.
        self._resolver = PositionResolver(
            self._shared, reader.client, lambda: None, self._fetching, self._clock
        )
        self._line = RangeConnection(
            reader.client.connections,
            self._shared,
            self._fetching,
            self._clock,
            make_pump=reader.make_pump,
            name=f"range {wanted.topic_partition}",
        )
        self._note = ""
        self._before_run = _Marks(None, 0, None)
        self._responses_after_run = -1
        self._state = self._shared.change(self._begin)
        if leader is not None:
            self._see(self._led_by(leader))

    @property
    def is_done(self) -> bool:
        return self._offset >= self._wanted.until_offset

    def turn(self) -> _Yielded:
        """Take one step."""
        state = self._state
        if state.waiting:
            yield from self._deliver()
        elif self._line.pump is not None:
            yield from self._take_pumped(self._line.pump)
        elif state.trouble is not None:
            yield from self._on_error(state.trouble.error)
        elif state.packed is not None:
            yield from self._unpack(state.packed)
        elif state.source is None:
            yield from self._find_leader()
        elif state.is_asking:
            self._resolver.run_due_lookups()
            yield from self._after_lookup()
        else:
            yield from self._fetch(state.source)

    def close(self) -> None:
        self._let_go()

    @property
    def _offset(self) -> int:
        """The offset after the last record handed out, or skipped."""
        position = self._state.position
        assert position is not None
        return position.offset

    def _begin(self, states: PartitionStates, _: int) -> PartitionState:
        tp = self._wanted.topic_partition
        states.add([tp])
        states.seek(tp, PositionView(self._wanted.from_offset))
        state = states.states[tp]
        state.bounds, state.until_offset = self._bounds, self._wanted.until_offset
        return state

    def _led_by(self, leader: Broker) -> ClusterView:
        """Return a view of the cluster with a leader that was found by other means."""
        return ClusterView(
            brokers={leader.id: leader},
            leaders={self._wanted.topic_partition: leader},
            leaderless={},
            errors={},
        )

    def _see(self, view: ClusterView) -> None:
        self._shared.change(lambda states, _: states.see(view))

    def _go_to(self, offset: int) -> None:
        """Continue at an offset, without comparing the epochs before it."""
        tp = self._wanted.topic_partition
        self._shared.change(lambda states, _: states.seek(tp, PositionView(offset)))

    def _follow(self, effects: Effects) -> None:
        if effects.notes:
            self._note = effects.notes[-1]

    def _fetch(self, source: Broker) -> _Yielded:
        line, before = self._line, self._marks()
        line.connect_to(source)
        wait = NO_WAIT
        if line.failure is None:
            if self._starts_pump():
                return
            wait = line.turn()
        if self._has_news(before):
            yield from self._after_exchange(before)
        elif wait.duration_ms is None:
            # Not expected: a range always has something to request. This must not loop forever.
            yield from self._failed("there is nothing to request")
        elif wait.duration_ms:
            self._reader.pause(wait.duration_ms)

    def _marks(self) -> _Marks:
        state = self._state
        return _Marks(state.source, state.responses, state.suspect_offset)

    def _starts_pump(self) -> bool:
        """Have the pump fetch if it can; return whether it does.

        Between two runs there is a response to Python: so a run that brings nothing, whatever the
        reason, can't be repeated for ever.
        """
        if self._state.responses == self._responses_after_run:
            return False
        self._before_run = self._marks()
        return self._line.starts_pump()

    def _take_pumped(self, pump: RangePump) -> _Yielded:
        """Take a chunk that the pump fetched, wait for one, or continue after the pump's end."""
        if self._shared.change(lambda states, _: self._receives(states)):
            self._line.on_response()
        elif pump.take_end():
            self._responses_after_run = self._state.responses
            yield from self._after_exchange(self._before_run)
        elif self._line.is_stopped:
            pump.stop()  # it may wait for a broker's quota
            pump.wait()
        elif not self._is_chunk_there():
            pump.wait()

    def _receives(self, states: PartitionStates) -> bool:
        """Take what the pump fetched, if nothing waits; return whether something does."""
        state = self._state
        if not state.waiting:
            enough_bytes = self._reader.settings.taken_bytes
            try:
                state.receive(has_epochs=states.settings.epochs, enough_bytes=enough_bytes)
            except BaseException:
                state.drop_requests()  # a chunk may be lost: nothing may follow it
                raise
        return bool(state.waiting)

    def _is_chunk_there(self) -> bool:
        """Return whether a chunk has come; if not, have the next one wake this thread."""
        fetch = self._state.delegated
        return fetch is not None and fetch.queue.await_chunk()

    def _has_news(self, before: _Marks) -> bool:
        return self._line.failure is not None or self._state.responses > before.responses

    def _after_exchange(self, before: _Marks) -> _Yielded:
        """Handle what a broker responded, or that it did not."""
        failure = self._line.failure
        if failure is not None:
            yield from self._on_failure(failure)
        elif self._has_news(before):
            self._line.on_response()
            yield from self._after_response(before)

    def _unpack(self, packed: PackedSet) -> _Yielded:
        """Unpack the next piece of a set."""
        before = self._marks()._replace(source=packed.requested.broker)
        unpacked = unpack_piece(
            packed, self._offset, self._fetching, self._reader.settings.unpacked_bytes
        )
        self._shared.change(
            lambda states, now_ms: states.unpacked(packed.requested, unpacked, now_ms)
        )
        yield from self._after_response(before)

    def _after_response(self, before: _Marks) -> _Yielded:
        """Handle a broker's response, or an unpacked piece of it."""
        state = self._state
        # A damaged entry is fetched again at once: it is neither a failure nor a gap.
        is_damaged = state.suspect_offset not in (None, before.suspect_offset)
        yield from self._after_refusal(is_damaged=is_damaged)
        if not is_damaged and state.source == before.source:
            yield from self._after_nothing()

    def _deliver(self) -> Iterator[RangePart]:
        """Have the next records fetched, then hand out those that wait."""
        before = self._offset
        chunk = self._state.waiting[0]
        if chunk.has_wire_bytes:
            self._bounds.learn(before, chunk.end.offset, chunk.wire_bytes)
        self._shared.change(self._take)
        self._losses.forget_end()
        self._tries.progressed()
        self._fetch_ahead()
        end = min(chunk.end.offset, self._wanted.until_offset)
        yield from parts_of(chunk.records, end, self._reader.settings.part_bytes)

    def _fetch_ahead(self) -> None:
        """Have the next records fetched while the caller processes those that it gets."""
        if self._line.pump is None and not self._state.waiting and not self._starts_pump():
            self._line.send_early()

    def _take(self, states: PartitionStates, _: int) -> None:
        state = self._state
        state.position = state.waiting.popleft().end
        states.touch(state)

    def _after_refusal(self, *, is_damaged: bool) -> _Yielded:
        """Retry a refused request if the core would."""
        state = self._state
        is_refused = bool(state.failures) and state.trouble is None and not is_damaged
        state.succeed()
        if is_refused:
            yield from self._failed(self._note)

    def _after_lookup(self) -> _Yielded:
        """Retry after any error code of a lookup: it does not show what can be fetched."""
        trouble = self._state.trouble
        if trouble is not None and isinstance(trouble.error, PartitionFailed):
            self._go_to(self._offset)
            yield from self._failed(str(trouble.error), trouble.error)
        else:
            yield from self._after_refusal(is_damaged=False)

    def _after_nothing(self) -> _Yielded:
        """Handle an empty response, if it was one."""
        state, offset = self._state, self._offset
        if state.has_changes or state.is_asking or state.packed is not None:
            return
        if state.source is None or state.needed_bytes:
            return
        now_ms = self._reader.clock.now_ms()
        next_offset = self._losses.pass_gap(offset, self._log_end(), now_ms)
        if next_offset > offset:
            self._go_to(next_offset)
        yield from self._give_up_absent(self._losses.give_up_absent(next_offset, now_ms))

    def _log_end(self) -> int:
        """Return the readable end of the log, as of the last response."""
        state = self._state
        end = readable_end(
            high_watermark=state.high_watermark,
            last_stable_offset=state.last_stable,
            isolation=self._reader.settings.isolation,
        )
        return state.high_watermark if end is None else end

    def _give_up_absent(self, lost: LostRange | None) -> _Yielded:
        if lost is not None:
            self._go_to(lost.until_offset)
            yield lost
        elif self._losses.is_absent:
            # The next leader may have more records, or this one may learn the log's end later.
            self._forget_leader()
            self._tries.rest()

    def _on_error(self, error: ZkConsumerError) -> _Yielded:
        """Continue after errors that do not stop a range, though a poll would report them."""
        offset = self._offset
        self._go_to(offset)
        match error:
            case OffsetOutOfRange(log_start=int(start), log_end=int(end)):
                yield from self._on_edges(start, end)
            case LogTruncated(is_recreated=True):
                lost = self._losses.rest(offset, "its topic was deleted and created again")
                self._go_to(lost.until_offset)
                yield lost
            case LogTruncated():
                # Records already read stay valid: the log did hold them at their offsets.
                log.warning("%s", error)
            case PartitionFailed() if is_reported_only(error):
                yield from self._failed(str(error), error)
            case TopicAuthorizationFailed():
                reason = f"the broker refuses to serve it: {error}"
                raise PartitionFailed(self._wanted.topic_partition, offset, reason) from error
            case _:
                raise error.with_traceback(None)

    def _on_edges(self, start: int, end: int) -> _Yielded:
        offset = self._offset
        if start <= offset <= end:
            text = f"Fetch: offset {offset} reported out of range, but the log is [{start}, {end}]"
            yield from self._failed(text)
            return
        lost = self._losses.on_edges(offset, start, end, self._reader.clock.now_ms())
        yield from self._give_up_absent(lost)

    def _on_failure(self, error: ZkConsumerError) -> _Yielded:
        was_idle = self._line.was_closed_idle(error)
        self._let_go()
        if was_idle:
            return
        passes = isinstance(error, TransportError | ProtocolError | BrokerError)
        if not passes or isinstance(error, LocalProtocolError):
            raise error.with_traceback(None)
        yield from self._failed(str(error), error)

    def _failed(self, reason: str, error: ZkConsumerError | None = None) -> _Yielded:
        """Record a failed try: find the leader again after a pause, unless it was the last try."""
        self._forget_leader()
        if self._line.is_stopped:
            raise PartitionFailed(self._wanted.topic_partition, self._offset, reason) from error
        self._losses.forget_end()
        try:
            self._tries.failed(self._offset, reason, error)
        except PartitionFailed as failed:
            if not self._tries.is_unknown:
                raise
            lost = self._losses.rest(self._offset, f"its topic is gone: {failed}")
            self._go_to(lost.until_offset)
            yield lost

    def _find_leader(self) -> _Yielded:
        tp = self._wanted.topic_partition
        try:
            timeout_ms = self._reader.settings.timeout_ms
            view = self._reader.client.view({tp.topic}, timeout_ms=timeout_ms)
        except LocalProtocolError:
            raise
        except (TransportError, ProtocolError) as error:
            self._tries.looked_up(is_unknown=False)
            yield from self._failed(str(error), error)
            return
        self._see(view)
        code = view.errors.get(tp.topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        is_listed = tp in view.leaders or tp in view.leaderless
        is_unknown = not is_listed and code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        self._tries.looked_up(is_unknown=is_unknown)
        if is_unknown:
            yield from self._failed("the cluster does not have that partition (any more)")
        elif tp not in view.leaders:
            code = view.leaderless.get(tp, code)
            yield from self._failed(f"it has no leader: {error_name(code)}")

    def _forget_leader(self) -> None:
        self._let_go()
        self._see(NOTHING_KNOWN)

    def _let_go(self) -> None:
        self._line.let_go(is_done=self.is_done)
