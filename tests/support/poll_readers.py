"""Reads the logs of a ``LogBroker`` as a poll does, over one connection."""

from types import TracebackType
from typing import Self

from tests.support.log_broker import LogBroker
from tests.support.log_readers import SETTINGS, ReceivedRecords
from tests.support.plain_connections import assuming_dialer, serving_fetch
from tests.support.waiting import PROMPT_MS
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import MessageTooLarge, PartitionFailed
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.record_set import offset_after_damage
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import PositionView
from zkconsumer.fetch.polled.collecting import collect
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Record, TopicPartition
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.records.consumer_record import RecordOrigin


class PollReader:
    """A poll's connection to a broker, run by its caller, which skips what the settings allow.

    Args:
        broker: the broker, whose logs are read from the start.
        settings: the settings of a stream that reads the same.
        version: the newest version of Fetch.
    """

    def __init__(
        self, broker: LogBroker, *, settings: FetchSettings = SETTINGS, version: int = 0
    ) -> None:
        self._broker = broker
        self._skips = settings.skip_poison
        self._clock = SystemClock()
        limits = CoreFetchSettings(
            max_partition_bytes=settings.max_partition_bytes,
            growth_max_bytes=settings.growth_max_bytes,
            max_bytes=settings.max_bytes,
            max_wait_ms=settings.max_wait_ms,
            request_timeout_ms=settings.request_timeout_ms,
            retry_backoff_ms=1,
        )
        self._shared = SharedFetchState(PartitionStates(limits), self._clock, lambda _effects: None)
        self._connection = FetchConnection(
            broker.address,
            self._shared,
            dial=assuming_dialer(TcpConnector(), serving_fetch(version)).dial,
            settings=limits,
            clock=self._clock,
        )
        self._received = {number: ReceivedRecords() for number in range(len(broker.logs))}
        self._stopped: set[int] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.stop()
        self._connection.close()

    def read_all(self, timeout_ms: int = 2 * PROMPT_MS) -> dict[int, ReceivedRecords]:
        """Return what arrives of each partition, until all are at their ends, or stopped."""
        partitions = [self._broker.partition(number) for number in self._received]
        leader = self._broker.address
        view = ClusterView(
            brokers={leader.id: leader},
            leaders=dict.fromkeys(partitions, leader),
            leaderless={},
            errors={},
        )

        def begin(states: PartitionStates, _now_ms: int) -> None:
            states.see(view)
            states.add(partitions)
            for tp in partitions:
                states.seek(tp, PositionView(0))

        self._shared.change(begin)
        deadline_ms = self._clock.now_ms() + timeout_ms
        while not all(map(self._is_through, self._received)):
            self._connection.turn()
            while self._shared.change(self._collect):
                pass
            assert self._clock.now_ms() < deadline_ms, "it ended early"
        return self._received

    def _is_through(self, number: int) -> bool:
        is_at_end = self._received[number].next_offset >= self._broker.logs[number].end
        return is_at_end or number in self._stopped

    def _collect(self, states: PartitionStates, now_ms: int) -> bool:
        """Collect buffered records; return whether there were any."""
        try:
            among = [tp for tp in states.states if tp.partition not in self._stopped]
            taken = collect(states, 1_000, now_ms, among)
        except (PartitionFailed, MessageTooLarge) as error:
            self._record_fault(states, error)
            return True
        for tp, piece in taken.items():
            self._received[tp.partition].records += [
                Record(record.offset, record.key, record.value)
                for record in piece.records(RecordOrigin(tp, None, None))
            ]
        for tp, state in states.states.items():
            if state.position is not None:
                self._received[tp.partition].next_offset = state.position.offset
        return bool(taken)

    def _record_fault(
        self, states: PartitionStates, error: PartitionFailed | MessageTooLarge
    ) -> None:
        tp: TopicPartition = error.topic_partition
        claimed = getattr(error.__cause__, "next_offset", None)
        behind = offset_after_damage(claimed, error.offset, states.states[tp].high_watermark)
        self._received[tp.partition].faults.append(
            (error.offset, behind, str(error.__cause__ or error))
        )
        if self._skips and behind is not None:
            states.seek(tp, PositionView(behind))
            self._received[tp.partition].next_offset = behind
        else:
            self._stopped.add(tp.partition)
