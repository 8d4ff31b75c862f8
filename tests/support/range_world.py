"""Ranges of offsets in a random world, fetched by a pump in a thread that runs in turns.

Whatever happens between two requests, two chunks, or two steps of both threads, each record that
the log holds comes once and in order, and what it lacks is reported.
"""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, cast

import pytest

from tests.support.interrupting import Interrupted
from tests.support.manual_clock import ManualClock
from tests.support.model_pump import ModelQueue, model_pump
from tests.support.poll_logs import ModelBroker, ModelLog
from tests.support.poll_network import ModelClient, ModelConnection
from tests.support.ranges import TP, offset_range
from tests.support.stepped_threads import SteppedScope, SteppedThread
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, DataLost, PartitionFailed, ZkConsumerError
from zkconsumer.fetch import range_connection, range_pump, range_reader, ranges
from zkconsumer.fetch.core.pump_maker import MakePump
from zkconsumer.fetch.core.pumped_connection import PumpedConnection
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.range_parts import LostRange, RangePart
from zkconsumer.fetch.range_pump import RangePump
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import LAST_BY_NAME

_BROKERS: Final = {number: Broker(number, "model", 9092 + number) for number in range(2)}
_FAULTS: Final = (
    ErrorCode.NOT_LEADER_FOR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OFFSET_OUT_OF_RANGE,
)
_FIRST_FENCED: Final = 9
_FIRST_EXACT: Final = 11
_MOST_TURNS: Final = 3_000
"""After so many turns nothing bad happens any more."""

_TOO_MANY_TURNS: Final = 8_000
_MOST_IDLE_RUNS: Final = 30
"""A model pump may return before it sends a request, but not so often in a row."""

_PURE_TIMES: Final = 1 if ENGINE is Engine.NATIVE else 4

Seen = tuple[int, bytes]


class RangeWorld:
    """A random world, determined by a seed.

    Args:
        seed: the seed of all random choices.
        version: the version of Fetch that all brokers support.
        pumps: whether there is a pump.
        damaged: whether an entry of the log is damaged for ever, and nothing else is done to it.

    Attributes:
        seen: the records that came.
        error: the error about the damaged entry.
        at: where the next record is due.
        trouble: the probability of each fault.
        delegations, pumped_responses, pumped_chunks, second_responses: see ``PollWorld``.
        interrupts: how often a signal handler raised.
        closes: how often the caller stopped reading before the end.
        losses: the reported losses.
        switches: how often the turn went from one thread to the other.
    """

    def __init__(
        self,
        seed: int,
        *,
        version: int,
        pumps: bool = True,
        damaged: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        self.version = version
        self.has_exact_epochs = version >= _FIRST_EXACT
        self.trouble = 0.03
        self.pumps = pumps
        self.is_damaged = damaged
        self.clock = ManualClock()
        self.fetches = self.delegations = self.pumped_responses = self.pumped_chunks = 0
        self.second_responses = self.interrupts = self.closes = self.switches = 0
        self.losses: list[tuple[int, int]] = []
        self.seen: list[Seen] = []
        self.error: PartitionFailed | None = None
        self.threads: list[SteppedThread] = []
        self.queues: list[ModelQueue] = []
        self.is_ending = False
        self._turns = self._idle_runs = 0
        self._pumps: list[PumpedConnection] = []
        self._is_gone = False
        # Both at one place are believed.
        self._may_flip = self.chance.random() < 0.5 and not damaged
        self._may_report_damage = not self._may_flip and not damaged
        self.log = self._filled(ModelLog(self._magic(), self.chance.randrange(len(_BROKERS))))
        self.logs = {TP: self.log}
        self.topic_ids = {TP.topic: TP.topic.encode().ljust(16, b"0")}
        self.brokers = {
            number: ModelBroker(number, self.logs, self.chance, self.topic_ids)
            for number in _BROKERS
        }
        self._view = self._seen_cluster()
        self.at = self.chance.randrange(max(1, self.log.end // 4))
        self.until = self.log.end - self.chance.choice((0, 0, 1, self.log.end // 5))
        # Such records may have been there when the range was planned.
        self._is_short = not damaged and self.chance.random() < 0.1
        self.until = max(self.until, self.at + 1) + (3 if self._is_short else 0)
        self.start = self.at
        if damaged:
            self._damage()
        fetch_bytes = self.chance.choice((100, 200, 1_000))
        self.settings = RangeSettings(
            fetch_bytes=fetch_bytes,
            part_bytes=_PURE_TIMES * fetch_bytes * self.chance.choice((4, 6, 20)),
            max_wait_ms=10,
            timeout_ms=self.chance.choice((900, 6_000)),
            retries=20,
            retry_interval_ms=5,
            poll_timeout_ms=10**9,
            fail_on_data_loss=self.chance.random() < 0.3,
        )
        self._least_bytes = self.chance.choice((50, 50, 1 << 16))
        self._model_client = ModelClient(cast("Any", self))
        self.connections = ConnectionPool(cast("Any", self), self.clock)

    # --- The network and the client ------------------------------------------------------------

    def sibling(self) -> "RangeWorld":
        """See ``BrokerDialer``."""
        return self

    def dial(self, broker: Broker, *, timeout_ms: int) -> ModelConnection:
        """See ``BrokerDialer``."""
        assert timeout_ms > 0
        self.meanwhile()
        if self.chance.random() < self.trouble:
            raise ConnectFailed("model: nobody listens")
        has_descriptor = self.chance.random() < 0.95
        return ModelConnection(cast("Any", self), broker, has_descriptor=has_descriptor)

    def view(self, _topics: object, *, timeout_ms: int) -> ClusterView:
        """See ``ClusterClient``; what a broker knows may be out of date."""
        if self.chance.random() < 0.8 or not self.trouble:
            self._view = self._seen_cluster()
        self.wait_for_client(timeout_ms)
        return self._view

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, isolation: IsolationLevel
    ) -> Mapping[TopicPartition, TimedOffset | int]:
        """See ``ClusterClient``."""
        if TP not in self.logs:
            return {TP: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        return self._model_client.list_offsets(times, timeout_ms=timeout_ms, isolation=isolation)

    def epoch_ends(
        self, requested: Mapping[TopicPartition, tuple[int, int]], *, timeout_ms: int
    ) -> Mapping[TopicPartition, EpochEnd | int | None]:
        """See ``ClusterClient``."""
        if TP not in self.logs:
            return {TP: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        return self._model_client.epoch_ends(requested, timeout_ms=timeout_ms)

    def wait_for_client(self, timeout_ms: int) -> None:
        """Let other things happen while a lookup waits for its response."""
        assert timeout_ms > 0
        self.meanwhile()
        if self.chance.random() < self.trouble:
            raise ConnectFailed("model: no broker answers")

    # --- The threads ---------------------------------------------------------------------------

    def make_pump(self, line: Any, shared: Any, settings: Any, clock: Any, wake: Any) -> Any:
        """See ``MakePump``."""
        made = model_pump(cast("Any", self), line, shared, settings, clock, wake)
        make, responses = made._make, -1

        def noted(*args: Any) -> Any:
            nonlocal responses
            self._idle_runs = self._idle_runs + 1 if responses == self.fetches else 0
            assert self._idle_runs < _MOST_IDLE_RUNS, "runs begin, and fetch nothing"
            responses = self.fetches
            fetch = make(*args)
            self.queues.append(cast("ModelQueue", fetch.queue))
            return fetch

        made._make = noted
        self._pumps.append(made)
        return made

    def meanwhile(self) -> None:
        """Let some events happen, and maybe the other thread have its turn."""
        self._turns += 1
        assert self._turns < _TOO_MANY_TURNS, "does not come to rest"
        if self._turns > _MOST_TURNS:
            self.trouble = 0
        for _ in range(self.chance.randrange(3) if self.trouble else 0):
            if self.chance.random() < 0.04:
                self._event()
        self.clock.advance(self.chance.choice((0, 0, 1, 20)))
        self.switch()

    def switch(self) -> None:
        """Maybe let the other thread have its turn."""
        if self.chance.random() < 0.5:
            return
        here = next((thread for thread in self.threads if thread.is_here), None)
        if here is not None:
            here.give_back()
        else:
            self._give_turn()

    def _give_turn(self) -> bool:
        """Give a thread of the reader's its turn; return whether there is one."""
        self._check_threads()
        self.threads[:] = [thread for thread in self.threads if not thread.is_over]
        if not self.threads:
            return False
        self.switches += 1
        self.chance.choice(self.threads).turn()
        return True

    def wait(self, event: "SteppedEvent", timeout_ms: int) -> bool:
        """Let the pump run while the reader sleeps; return whether it is woken."""
        self.maybe_interrupt()
        for _ in range(300):
            if event.is_set:
                event.is_set = False
                return True
            is_queued = any(queue.record_count for queue in self.queues)
            assert self.is_ending or not is_queued, "the reader sleeps, though a chunk has come"
            if not self._give_turn():
                break
        self.clock.advance(timeout_ms)
        assert self.is_ending or self.threads, "the reader waits for a thread that has ended"
        return False

    def takes_queued(self) -> bool:
        """Let the reader take what a pump queued, while that waits for capacity."""
        (here,) = (thread for thread in self.threads if thread.is_here)
        before = [queue.used_bytes for queue in self.queues]
        while before == [queue.used_bytes for queue in self.queues]:
            if self.chance.random() < self.trouble or self._is_stopped():
                return False
            here.give_back()
        return True

    def _is_stopped(self) -> bool:
        return any(pumped._pumped is not None and pumped._is_stopped for pumped in self._pumps[-1:])

    def on_taken(self) -> None:
        """Let a signal handler raise while the reader takes a chunk out of a queue."""
        self.maybe_interrupt()

    def maybe_interrupt(self) -> None:
        """Let a signal handler raise, which runs in the reader's thread."""
        is_due = self.chance.random() < self.trouble / 4 and not self.is_ending
        if is_due and not any(thread.is_here for thread in self.threads):
            self.interrupts += 1
            raise Interrupted

    def pause(self, duration_ms: int) -> None:
        """Wait: for a retry, or for a quota."""
        self.maybe_interrupt()
        self.clock.advance(duration_ms)
        self.meanwhile()

    # --- Events --------------------------------------------------------------------------------

    def _magic(self) -> int:
        if self.version >= 4:
            return 2
        return self.chance.randrange(2) if self.version >= 2 else 0

    def _filled(self, log: ModelLog) -> ModelLog:
        for _ in range(self.chance.randrange(8, 90)):
            self._write(log)
        # Compaction removes entries, at any place: also the last one.
        for _ in range(self.chance.choice((0, 0, 1, 6)) if log.magic == 2 else 0):
            del log.batches[self.chance.choice((-1, self.chance.randrange(len(log.batches))))]
            if len(log.batches) < 4:
                break
        return log

    def _write(self, log: ModelLog) -> None:
        chance = self.chance
        if log.magic == 2 and chance.random() < 0.1:
            log.open[7] = log.end
            log.finish(7, Marker.COMMIT)  # nothing but a marker
            return
        log.append(
            chance.randrange(1, 8),
            codec=chance.choice((Codec.NONE, Codec.NONE, Codec.GZIP)),
            gap=chance.choice((0, 0, 0, 3)),
            size=chance.choice((1, 20, 20, 20, 300)),
        )

    def _event(self) -> None:
        """Let one random event happen."""
        chance, log = self.chance, self.log
        model = self.brokers[chance.randrange(len(self.brokers))]
        match chance.randrange(12):
            case 0 | 1 | 2:
                log.lead(chance.randrange(len(_BROKERS)))
            case 3 | 4 | 5:
                model.faults[TP] = chance.choice(_FAULTS)
            case 6 if self._may_flip:
                self._may_flip = False
                model.flips.add(TP)
            case 6 if self._may_report_damage:
                model.faults[TP] = ErrorCode.CORRUPT_MESSAGE
            case 7 | 8 if not self._is_short and not self.is_damaged:
                self._write(log)
            case 9 | 10 if not self.is_damaged and chance.random() < 0.3:
                log.delete_before(chance.randrange(log.start, log.end + 1))
            case 11 if not self.is_damaged and chance.random() < 0.05 and not self._is_gone:
                self._delete()
            case _:
                pass

    def _delete(self) -> None:
        """Delete the topic, and maybe create it again, with other records."""
        self._is_gone = True
        del self.logs[TP]
        if self.version > LAST_BY_NAME and self.chance.random() < 0.5:
            self.topic_ids[TP.topic] = self.chance.randbytes(16)
            self.logs[TP] = self._filled(ModelLog(self._magic(), self.log.leader, epoch=9))

    def _damage(self) -> None:
        """Damage an entry of the range, for ever."""
        inside = [batch for batch in self.log.batches if self.start < batch.first < self.until]
        if inside:
            batch = self.chance.choice(inside)
            batch.data = batch.data[:-1] + bytes([batch.data[-1] ^ 0x55])

    def _seen_cluster(self) -> ClusterView:
        here = self.logs.get(TP)
        is_led = here is not None and self.chance.random() >= self.trouble
        epochs = {} if here is None or self.version < _FIRST_FENCED else {TP: here.epoch}
        return ClusterView(
            brokers=dict(_BROKERS),
            leaders={TP: _BROKERS[here.leader]} if here is not None and is_led else {},
            leaderless={TP: ErrorCode.LEADER_NOT_AVAILABLE} if here is not None else {},
            errors={} if here is not None else {TP.topic: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION},
            leader_epochs=epochs,
            has_exact_epochs=self.has_exact_epochs,
            topic_ids=dict(self.topic_ids) if self.version > LAST_BY_NAME and here else {},
        )

    # --- The caller, and the checks ------------------------------------------------------------

    def run(self) -> None:
        """Read the range to its end, in as many readings as it takes."""
        with self._in_turns():
            while self.at < self.until and self.error is None:
                self._read()
                self._check_left()
        self._check_end()

    def _read(self) -> None:
        """Read until the end, an interrupt, a loss that is an error, or a whim of the caller."""
        reader = RangeReader(
            cast("Any", self),
            settings=self.settings,
            clock=self.clock,
            pause=self.pause,
            make_pump=cast("MakePump", self.make_pump) if self.pumps else lambda *_: None,
        )
        reading = reader.read(offset_range(self.at, self.until))
        try:
            for part in reading:
                self._judge(part)
                self.meanwhile()
                if self.chance.random() < self.trouble / 2:
                    self.closes += 1
                    break
            else:
                self._judge_records([], self.until)
        except Interrupted:
            pass
        except DataLost as lost:
            assert self.settings.fail_on_data_loss
            self._judge_loss(lost.from_offset, lost.until_offset)
        except PartitionFailed as failed:
            self._judge_failure(failed)
        except ZkConsumerError as error:
            raise AssertionError(f"no such error is due: {error!r}") from error
        finally:
            reading.close()

    def _judge(self, part: RangePart | LostRange) -> None:
        if isinstance(part, LostRange):
            assert not self.settings.fail_on_data_loss
            self._judge_loss(part.from_offset, part.until_offset)
            return
        records = [(record.offset, record.value or b"") for record in part.records()]
        assert len(records) == len(part) > 0
        self._judge_records(records, part.next_offset)

    def _judge_records(self, records: list[Seen], stop: int) -> None:
        """Check that these are all records up to an offset, and none lies beyond the range."""
        assert self.at <= stop <= self.until
        due = self.log.visible(self.at, stop, committed=False)
        assert records == due, f"of [{self.at}, {stop}): {records}, not {due}"
        self.seen += records
        self.at = stop

    def _judge_loss(self, start: int, stop: int) -> None:
        """Check that what is reported as lost is not in the log."""
        assert start < stop
        self._judge_records([], start)
        held = self.log.visible(max(start, self.log.start), stop, committed=False)
        assert self._is_gone or not held, f"[{start}, {stop}) is not lost"
        assert stop <= self.until
        self.losses.append((start, stop))
        self.at = stop

    def _judge_failure(self, failed: PartitionFailed) -> None:
        """Check that only the damaged entry ends the range, after all records before it."""
        assert self.is_damaged
        self._judge_records([], failed.offset)
        self.error = failed

    def _check_left(self) -> None:
        """Check that a reading leaves no thread, and no connection with a response outstanding."""
        assert all(thread.is_over for thread in self.threads)
        self._check_threads()
        assert not self.connections._in_use
        idle = [one for kept in self.connections._idle.values() for one, _ in kept]
        assert all(one.is_idle and not cast("Any", one).is_unusable for one in idle)
        assert not any(queue.record_count for queue in self.queues if self.at >= self.until)
        self.queues.clear()
        self.threads.clear()

    def _check_threads(self) -> None:
        """Check that none died."""
        errors = [thread.error for thread in self.threads if thread.error is not None]
        assert not errors, errors

    def _check_end(self) -> None:
        gone = {offset for start, stop in self.losses for offset in range(start, stop)}
        due = self.log.visible(self.start, self.at, committed=False)
        assert self.seen == [one for one in due if one[0] not in gone]

    @contextmanager
    def _in_turns(self) -> Iterator[None]:
        """Have ranges read with threads in turns, and with the clock of the world."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(range_pump, "ThreadScope", partial(RangeScope, self))
            patch.setattr(range_connection, "WakeEvent", partial(SteppedEvent, self))
            patch.setattr(range_reader, "SystemClock", lambda: self.clock)
            patch.setattr(range_reader, "SharedFetchState", partial(SteppedState, self))
            patch.setattr(ranges, "_LEAST_BYTES", self._least_bytes)
            ends_soon = RangePump._ends_soon

            def ending(pump: RangePump) -> bool:
                self.is_ending = True
                try:
                    return ends_soon(pump)
                finally:
                    self.is_ending = False

            patch.setattr(RangePump, "_ends_soon", ending)
            try:
                yield
            finally:
                for thread in self.threads:
                    thread.abandon()


class RangeScope(SteppedScope):
    """A scope of a world; sometimes the system has no thread left."""

    def __init__(self, world: RangeWorld, name: str) -> None:
        super().__init__(name, world.threads)
        self._world = world

    def spawn(self, *args: Any, **options: Any) -> SteppedThread:
        """See ``ThreadScope``."""
        if self._world.chance.random() < self._world.trouble / 2:
            raise RuntimeError("can't start new thread")
        return super().spawn(*args, **options)


class SteppedEvent:
    """A ``WakeEvent`` during whose waits the other thread has its turns."""

    def __init__(self, world: RangeWorld) -> None:
        self.is_set = False
        self._world = world

    def notify(self) -> None:
        """See ``WakeEvent``."""
        self.is_set = True
        self._world.switch()

    def wait(self, timeout_ms: int) -> bool:
        """See ``WakeEvent``."""
        return self._world.wait(self, timeout_ms)


class SteppedState(SharedFetchState):
    """A state after whose changes the other thread may have its turn."""

    def __init__(self, world: RangeWorld, *args: Any) -> None:
        super().__init__(*args)
        self._world = world

    def change(self, do: Any) -> Any:
        """See ``SharedFetchState``."""
        try:
            return super().change(do)
        finally:
            self._world.switch()
