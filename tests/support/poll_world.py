"""A poll engine in a random world: the real engine with simulated threads, clock and network.

The world runs the engine's connections and lookups itself, whenever one was woken or its wait is
over. While one waits for a response, anything else may happen: seeks, polls, other connections.
Every delivered record and every change of a position is checked against the logs.
"""

import random
from dataclasses import replace
from functools import partial
from typing import Any, cast

from tests.support.interrupting import Interrupted
from tests.support.manual_clock import ManualClock
from tests.support.model_pump import model_pump
from tests.support.poll_logs import ModelBroker, ModelLog
from tests.support.poll_network import ModelClient, ModelConnection, ModelMetadata, NoThreads
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    ConnectFailed,
    LogTruncated,
    OffsetOutOfRange,
    PartitionFailed,
    ZkConsumerError,
)
from zkconsumer.fetch.core.partition_state import Phase
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.positions import PositionResolver
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge, PositionView, Start
from zkconsumer.fetch.polled.broker_fetcher import BrokerFetcher
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.transactions import IsolationLevel, Marker
from zkconsumer.wire.messages.fetch import LAST_BY_NAME

PARTITIONS = tuple(TopicPartition(topic, number) for topic in "ab" for number in range(2))
_BROKERS = {number: Broker(number, "model", 9092 + number) for number in range(3)}
_FAULTS = (
    ErrorCode.NOT_LEADER_FOR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN,
    ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorCode.CORRUPT_MESSAGE,
)
_DEPTH = 3
_LARGEST_BYTES = 3_000
"""The size of the largest entry in a log; from Fetch 3 on it comes whole, whatever is requested."""

_FIRST_FENCED = 9
"""The first version of Fetch with the leader's epoch (2.1); since then metadata has it, too."""
_FIRST_EXACT = 11
"""The version of Fetch of brokers that learn of all epochs, and return where they ended.

The former since 2.4, the latter since 2.3, which has the same version of Fetch.
"""
Seen = tuple[int, bytes]


class PollWorld:
    """A random world, determined by a seed.

    Args:
        seed: the seed of all random choices.
        version: the version of Fetch that all brokers support.
        isolation: the consumer's isolation level.
        truncates: whether elections may be unclean.
        reset: the consumer's offset reset policy.
        pumps: whether partitions that are far behind are delegated to a model pump; requests are
            small then, so that many are.

    Attributes:
        trouble: the probability of each fault; ``settle`` sets it to 0.
        has_exact_epochs: whether brokers learn of all leader epochs, and return where they ended.
            If not, a truncated log that grew again can't be told from any other log, and leaders
            may have epochs that no other broker knows.
        delegations: how often partitions were delegated.
        pumped_responses: responses to a pump.
        pumped_chunks: chunks that pumps queued.
        second_responses: responses to hedged requests of a pump.
        interrupts: how often a signal handler raised while chunks were taken.
    """

    def __init__(
        self,
        seed: int,
        *,
        version: int,
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
        truncates: bool = False,
        reset: LogEdge | None = EARLIEST,
        pumps: bool = False,
    ) -> None:
        self.chance = random.Random(seed)
        self.version = version
        self.truncates = truncates
        self.has_exact_epochs = version >= _FIRST_EXACT
        self.trouble = 0.08
        self.pumps = pumps
        self.fetches = self.delegations = 0
        self.pumped_responses = self.pumped_chunks = self.second_responses = 0
        self.interrupts = 0
        self._is_signalled = False
        self._elections = 2 if pumps and truncates else 1
        self.clock = ManualClock()
        magic = 2 if version >= 4 else self.chance.randrange(2) if version >= 2 else 0
        self.logs = {tp: ModelLog(magic, self.chance.randrange(3)) for tp in PARTITIONS}
        self.topic_ids = {topic: topic.encode().ljust(16, b"0") for topic in "ab"}
        self.brokers = {
            number: ModelBroker(number, self.logs, self.chance, self.topic_ids)
            for number in _BROKERS
        }
        self._former: dict[TopicPartition, ModelLog] = {}
        self._from_start: set[TopicPartition] = set()
        self.committed = isolation is IsolationLevel.READ_COMMITTED
        self.reset = reset
        self.recreates = version > LAST_BY_NAME and reset is EARLIEST and not truncates
        self.metadata = ModelMetadata()
        self.rung = True
        self.seen: dict[TopicPartition, list[Seen]] = {}
        self.stands: dict[TopicPartition, int | None] = {}
        self.collected = 0
        self._depth = 0
        self._busy: set[object] = set()
        self._rests: dict[object, tuple[int, bool]] = {}
        self._flipped: set[TopicPartition] = set()
        settings = CoreFetchSettings(
            max_bytes=self.chance.choice((1_000, 4_000, 1 << 20)),
            max_partition_bytes=self.chance.choice((200, 1_000, 1 << 16)),
            grown_bytes=self.chance.choice((0, 400, 4_000, 1 << 17)),
            shares_growth=True,
            isolation=isolation,
            reset=reset,
        )
        if pumps:
            settings = replace(
                settings,
                max_bytes=self.chance.choice((4_000, 20_000)),
                max_partition_bytes=self.chance.choice((100, 200, 1_000)),
                grown_bytes=self.chance.choice((0, 400, 4_000)),
            )
            for _ in range(self.chance.randrange(60)):
                self._write()
        self.engine = PollEngine(
            dialer=cast("Any", self),
            client=cast("Any", ModelClient(self)),
            metadata=cast("Any", self.metadata),
            settings=settings,
            scope=cast("Any", NoThreads()),
            wake=self._signal,
            clock=self.clock,
            make_pump=partial(model_pump, self) if pumps else None,
        )

    # --- Called by the engine ------------------------------------------------------------------

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> ModelConnection:
        """See ``BrokerDialer``."""
        assert timeout_ms is None or timeout_ms > 0
        if self.chance.random() < self.trouble:
            raise ConnectFailed("model: nobody listens")
        has_descriptor = self.pumps and self.chance.random() < 0.9
        return ModelConnection(self, broker, has_descriptor=has_descriptor)

    def wait_for_client(self, timeout_ms: int) -> None:
        """Let other things happen while a lookup waits for its response."""
        assert timeout_ms > 0
        self.meanwhile()
        if self.chance.random() < self.trouble:
            raise ConnectFailed("model: no broker answers")

    def _signal(self) -> None:
        self.rung = True

    def on_taken(self) -> None:
        """Let a signal handler raise while the caller takes a chunk out of a queue."""
        if self._is_signalled:
            self._is_signalled = False
            raise Interrupted

    def takes_queued(self) -> bool:
        """Let the caller take what a pump queued, while that waits for capacity.

        Returns:
            False while anything may happen: then the pump is called before long.
        """
        if self.trouble:
            return False
        is_told = self.rung
        assert is_told, "the caller sleeps, and nobody tells it of the queued chunks"
        while is_told:
            self._collect()
            is_told = self.rung
        return True

    # --- Events --------------------------------------------------------------------------------

    def meanwhile(self) -> None:
        """Let some events happen while a call waits."""
        if self._depth < _DEPTH and self.trouble:
            self._depth += 1
            for _ in range(self.chance.randrange(4)):
                self.turn()
            self._depth -= 1

    def turn(self) -> None:
        """Let one random event happen."""
        actions = (
            (self._write, 5),
            (self._step_engine, 14),
            (self._collect, 8),
            (self._steer, 2),
            (self._move_leader, self._elections if self.trouble else 0),
            (self._reassign, 0 if self.has_exact_epochs or not self.trouble else 0.5),
            (self._update_metadata, 2 * self._elections),
            (self._misbehave, 2 if self.trouble else 0),
            (self._recreate, 0.4 if self.recreates and self.trouble else 0),
        )
        self.chance.choices([action for action, _ in actions], [often for _, often in actions])[0]()
        self.clock.advance(self.chance.choice((0, 0, 1, 40)))

    def settle(self) -> None:
        """Run without faults until everything is delivered, with wakeups and time-outs alone."""
        self.trouble = 0
        for model in self.brokers.values():
            model.faults.clear()
            model.flips.clear()
        for log in self.logs.values():
            for producer in list(log.open):
                log.finish(producer, Marker.COMMIT)
        self.engine.add(PARTITIONS)
        self.engine.resume(PARTITIONS)
        for tp, state in self.engine._shared.read(
            lambda partition_states: dict(partition_states.states)
        ).items():
            if state.phase is not Phase.NO_POSITION:
                continue
            self._seek(tp, PositionView(self.logs[tp].start))
        for turns in range(600):
            if self._is_done():
                return
            if self.metadata.is_wanted or not turns:
                self._update_metadata()
            self._step_engine()
            if self.rung:
                self._collect()
            self.clock.advance(20)
        raise AssertionError(f"does not come to rest: {self._state()}")

    def check_end(self) -> None:
        """Check that the caller got exactly what the logs contain."""
        for tp, log in self.logs.items():
            seen = [
                offset_and_value
                for offset_and_value in self.seen[tp]
                if offset_and_value[0] >= log.start
            ]
            first = self.seen[tp][0][0] if self.seen[tp] else log.end
            if tp in self._from_start:
                first = log.start
            due = log.visible(max(first, log.start), log.end, committed=self.committed)
            if self.truncates and not self.has_exact_epochs:
                assert [offset for offset, _ in seen] == [offset for offset, _ in due]
            else:
                assert seen == due

    def _is_done(self) -> bool:
        """Whether everything is read, and the engine has no open question.

        A truncated log may have grown to its old end again, with other records: by offsets alone, a
        consumer at that end has read everything. It learns of the new leader from the responses to
        its next fetches (FENCED_LEADER_EPOCH, NOT_LEADER_FOR_PARTITION), and of the truncation from
        the response about the epoch (KIP-320); both have to come first.
        """
        states = self.engine._shared.read(lambda partition_states: dict(partition_states.states))
        return all(
            (state := states[tp]).position is not None
            and state.position.offset == log.end
            and not state.is_asking
            and (state.leader_epoch == log.epoch or not self.has_exact_epochs)
            for tp, log in self.logs.items()
        )

    def _state(self) -> object:
        states = self.engine._shared.read(lambda partition_states: dict(partition_states.states))
        return [(tp, self.logs[tp].end, states.get(tp)) for tp in PARTITIONS]

    def _write(self) -> None:
        chance = self.chance
        log = self.logs[chance.choice(PARTITIONS)]
        codec = chance.choice((Codec.NONE, Codec.NONE, Codec.GZIP))
        gap = chance.choice((0, 0, 3)) if not self.truncates else 0
        size = chance.choice((1, 20, 20, 300))
        if log.magic < 2 or self.truncates or chance.random() < 0.5:
            log.append(chance.randrange(1, 8), codec=codec, gap=gap, size=size)
            return
        producer = chance.randrange(2)
        if producer in log.open and chance.random() < 0.6:
            log.finish(producer, chance.choice((Marker.COMMIT, Marker.ABORT)))
        else:
            log.append(chance.randrange(1, 6), codec=codec, gap=gap, producer=producer, size=size)

    def _move_leader(self) -> None:
        tp = self.chance.choice(PARTITIONS)
        log = self.logs[tp]
        cut_to = None
        if self.truncates and self.chance.random() < 0.5:
            cut_to = self.chance.randrange(log.start, log.end + 1)
        log.lead(self.chance.randrange(3), cut_to=cut_to)
        for _ in range(self.chance.randrange(6) if self.pumps else 0):
            # Soon it has other records where its former leader had some.
            log.append(self.chance.randrange(1, 8), codec=Codec.NONE)

    def _reassign(self) -> None:
        self.logs[self.chance.choice(PARTITIONS)].reassign()

    def _recreate(self) -> None:
        """Delete a topic, and create it again, possibly with longer logs."""
        topic = self.chance.choice("ab")
        partitions = [tp for tp in PARTITIONS if tp.topic == topic]
        if self._former.keys() & set(partitions):
            return  # the engine has not noticed the last time yet
        former_id = self.topic_ids[topic]
        self.topic_ids[topic] = self.chance.randbytes(16)
        for tp in partitions:
            log = self._former[tp] = self.logs[tp]
            self.logs[tp] = ModelLog(log.magic, self.chance.randrange(3))
            for _ in range(self.chance.randrange(8)):
                self.logs[tp].append(self.chance.randrange(1, 8), codec=Codec.NONE)
        for model in self.brokers.values():
            model.recreated(topic, former_id)

    def _notices_recreation(self, tp: TopicPartition) -> bool:
        """Whether the engine knows that the topic was recreated; then all of it must come."""
        states = self.engine._shared.read(lambda partition_states: dict(partition_states.states))
        if tp in states and states[tp].topic_id != self.topic_ids[tp.topic]:
            return False
        del self._former[tp]
        # If it saw the former topic's id, it reads from the start; else it can't notice the change.
        if tp in states and len(states[tp].topic_ids) > 1 and self.stands.get(tp) is not None:
            self._from_start.add(tp)
        self.stands[tp] = None
        self.seen[tp] = []
        return True

    def _update_metadata(self) -> None:
        self.metadata.is_wanted = False
        leaderless = {tp for tp in PARTITIONS if self.chance.random() < self.trouble}
        self.metadata.view = ClusterView(
            brokers=dict(_BROKERS),
            leaders={
                tp: _BROKERS[log.leader] for tp, log in self.logs.items() if tp not in leaderless
            },
            leaderless=dict.fromkeys(leaderless, 5),
            errors={},
            leader_epochs=self._known_epochs(),
            has_exact_epochs=self.has_exact_epochs,
            topic_ids=dict(self.topic_ids) if self.version > LAST_BY_NAME else {},
        )
        if self.chance.random() < 0.8 or not self.trouble:
            self.engine.cluster_changed(self.metadata.view)

    def _known_epochs(self) -> dict[TopicPartition, int]:
        if self.version < _FIRST_FENCED:
            return {}
        exact = self.has_exact_epochs
        return {tp: log.epoch if exact else log.known_epoch for tp, log in self.logs.items()}

    def _misbehave(self) -> None:
        chance = self.chance
        model, tp = self.brokers[chance.randrange(3)], chance.choice(PARTITIONS)
        match chance.randrange(4):
            case 0:
                model.evict()
            case 1:
                model.faults[tp] = chance.choice(_FAULTS)
            case 2 if not self.truncates and tp not in self._flipped:
                self._flipped.add(tp)
                model.flips.add(tp)
            case _:
                if not self.truncates:
                    log = self.logs[tp]
                    log.delete_before(chance.randrange(log.start, log.end + 1))

    def _step_engine(self) -> None:
        """Run one of the engine's threads, if it has work."""
        lines: list[BrokerFetcher | PositionResolver] = [*self.engine._fetchers.values()]
        worker = self.chance.choice([*lines, self.engine._resolver])
        if worker in self._busy:
            return
        until_ms, can_wake = self._rests.get(worker, (0, True))
        is_woken = worker._wakeup.wait(0)
        if self.clock.now_ms() < until_ms and not (is_woken and can_wake):
            return
        self._busy.add(worker)
        try:
            if isinstance(worker, BrokerFetcher):
                rest = worker.turn()
                rest_ms, wakes = rest.duration_ms, rest.can_wake
            else:
                rest_ms, wakes = worker.run_due_lookups(), True
        finally:
            self._busy.discard(worker)
        rest_ms = 1 << 40 if rest_ms is None else rest_ms
        self._rests[worker] = (self.clock.now_ms() + rest_ms, wakes)

    def _steer(self) -> None:
        chance, engine = self.chance, self.engine
        tp = chance.choice(PARTITIONS)
        log = self.logs[tp]
        here = tp in engine.partitions()
        match chance.randrange(8):
            case 0:
                engine.remove((tp,))
                self.stands.pop(tp, None)
                self.seen.pop(tp, None)
                self._from_start.discard(tp)
            case 1:
                engine.pause((tp,))
            case 2 | 3:
                engine.resume(PARTITIONS)
            case 4 | 5 if here:
                self._seek(tp, PositionView(chance.randrange(log.start, log.end + 1)))
            case 6 if here:
                self._seek(tp, chance.choice((EARLIEST, LATEST)))
            case _:
                if not here:
                    engine.add((tp,))
                    if chance.random() < 0.9:
                        self._seek(tp, PositionView(log.start))

    def _seek(self, tp: TopicPartition, start: Start) -> None:
        if tp in self._former:
            self._notices_recreation(tp)
        self.engine.seek(tp, start)
        self._from_start.discard(tp)
        self.stands[tp] = start.offset if isinstance(start, PositionView) else None
        self.seen[tp] = []

    # --- The caller, and the checks ------------------------------------------------------------

    def _collect(self) -> None:
        """Poll once, and check the records."""
        self.rung = False
        self.engine._shared.read(self._judge_buffered)
        self._is_signalled = bool(self.pumps and self.trouble and self.chance.random() < 0.1)
        try:
            taken = self.engine.collect(self.chance.choice((1, 3, 50)))
        except Interrupted:
            self.interrupts += 1
            self.rung = True
            taken = {}
        except (OffsetOutOfRange, LogTruncated, PartitionFailed) as error:
            self._judge_error(error)
            self.rung = True
            taken = {}
        except ZkConsumerError as error:
            raise AssertionError(f"no such error is due: {error!r}") from error
        finally:
            self._is_signalled = False
        if taken:
            self.rung = True
        paused = self.engine.paused()
        for tp in self.engine.partitions():
            at = self.engine.position(tp)
            records = taken[tp].records(RecordOrigin(tp)) if tp in taken else []
            got = [(record.offset, record.raw_value or b"") for record in records]
            assert not (got and tp in paused)
            self.collected += len(got)
            self._judge(tp, got, None if at is None else at.offset)
        assert not taken.keys() - self.engine.partitions()
        assert all(len(piece) for piece in taken.values())

    def _judge_buffered(self, partition_states: PartitionStates) -> None:
        """Check that nothing was fetched while more than the limit was buffered."""
        settings = partition_states.settings
        most_bytes = max(settings.max_partition_bytes, settings.grown_bytes)
        if self.pumps:
            # A queue that is empty, and a set that is handed back, may hold one larger entry each.
            most_bytes = max(most_bytes, settings.max_bytes) + _LARGEST_BYTES
        for state in partition_states.states.values():
            before = [chunk.unread_bytes for chunk in state.waiting][:-1]
            assert sum(before) <= most_bytes

    def _judge_error(self, error: OffsetOutOfRange | LogTruncated | PartitionFailed) -> None:
        tp = error.topic_partition
        if isinstance(error, PartitionFailed):  # damaged twice in a row
            at = self.engine.position(tp)
            assert at is not None
            assert error.offset == at.offset
            self._judge(tp, [], at.offset)
            self.engine.seek(tp, PositionView(at.offset, at.leader_epoch))
            return
        assert self.reset is None
        log = self.logs[tp]
        if isinstance(error, LogTruncated):
            assert self.truncates
            assert error.diverged_at is not None
            # A seek has no epoch: a truncation before the next record arrives goes unnoticed.
            self._seek(tp, PositionView(min(error.diverged_at, log.end)))
        else:
            at = self.engine.position(tp)
            assert at is not None
            assert error.offset == at.offset
            self._judge(tp, [], at.offset)
            assert self.truncates or not log.start <= at.offset <= log.end
            self._seek(tp, PositionView(log.start))

    def _judge(self, tp: TopicPartition, got: list[Seen], position: int | None) -> None:
        """Check that the caller got everything between the last position and this one."""
        if tp in self._former and not self._notices_recreation(tp):
            assert all(
                offset_and_value in self._former[tp].visible(0, 1 << 62, committed=False)
                for offset_and_value in got
            )
            self.stands[tp] = position
            return
        stood, self.stands[tp] = self.stands.get(tp), position
        log, seen = self.logs[tp], self.seen.setdefault(tp, [])
        if stood is None:
            # The reset policy chose the position: from there on nothing may be missing.
            stood = got[0][0] if got else position
        if position is None:
            # A reset is pending, and everything before it has been delivered.
            stop = got[-1][0] + 1 if got else stood
            assert self.truncates or not got or got == self._due(tp, stood, stop)
            seen.clear()
            return
        assert stood is not None
        if self.truncates:
            self._judge_cut(tp, got, stood, position)
        elif stood < log.start and (got[0][0] if got else position) > stood:
            # Retention may have been faster: the missing records must be gone.
            reached = got[0][0] if got else position
            skips = self.reset is LATEST
            assert skips or not self._due(tp, max(stood, log.start), reached), (tp, stood)
            assert got == self._due(tp, reached, position), (tp, stood)
            seen.clear()
        else:
            assert got == self._due(tp, stood, position), (tp, stood)
        seen.extend(got)

    def _due(self, tp: TopicPartition, first: int | None, stop: int | None) -> list[Seen]:
        assert first is not None
        assert stop is not None
        return self.logs[tp].visible(first, stop, committed=self.committed)

    def _judge_cut(self, tp: TopicPartition, got: list[Seen], stood: int, position: int) -> None:
        """Check that after a truncation positions go back to the common part, and no further."""
        log = self.logs[tp]
        if (got and got[0][0] < stood) or (not got and position < stood):
            back = got[0][0] if got else position
            self.seen[tp][:] = [
                offset_and_value for offset_and_value in self.seen[tp] if offset_and_value[0] < back
            ]
            stood = back
        assert [offset for offset, _ in got] == list(range(stood, position)), (tp, stood, position)
        for offset, value in got:
            assert value in {data for _, data in log.ever[offset]}
        if got and self.has_exact_epochs and (log.epoch, got[-1][1]) in log.ever[got[-1][0]]:
            # The present leader wrote it: its log was compared with all that came before.
            read = [*self.seen[tp], *got]
            assert read == self._due(tp, read[0][0], position), (tp, stood, position)
