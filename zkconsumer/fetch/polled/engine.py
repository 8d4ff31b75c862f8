"""Fetch ahead for a caller that polls, with one thread per broker; the package's entry point.

The caller gets everything from ``collect``: records, and the errors that stop them. Only
``collect`` moves positions over records, so those fetched ahead never count as handed out.
"""

import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, replace
from typing import TypeVar

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.errors import ZkConsumerError
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.positions import PositionResolver
from zkconsumer.fetch.core.pump_maker import MakePump, pump_maker
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import Counters, ResponseCounts, SharedFetchState
from zkconsumer.fetch.core.starts import PositionView, Start
from zkconsumer.fetch.polled import collecting
from zkconsumer.fetch.polled.broker_fetcher import BrokerFetcher
from zkconsumer.fetch.polled.collecting import gathering_wait_ms
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.records.codecs import Codec
from zkconsumer.records.slices import RecordSlice
from zkconsumer.records.transactions import readable_end
from zkconsumer.scope import ThreadScope

R = TypeVar("R")


@dataclass(slots=True, kw_only=True)
class EngineStats(Counters):
    """Counters of what was fetched so far, and gauges of what is buffered now.

    Attributes:
        buffered_bytes: memory that buffered records take.
        buffered_records: records buffered for the caller.
    """

    buffered_bytes: int = 0
    buffered_records: int = 0


class PollEngine:
    """Fetch for a consumer's polls; no method waits for the network.

    Thread: the caller's, but for ``cluster_changed`` and ``stop``.

    Args:
        dialer: connects to brokers; its owner stops it before joining the scope.
        client: looks up ends of logs and of epochs; stopped by its owner likewise.
        metadata: the leaders of partitions. Its owner chooses which topics it watches.
        settings: fetch settings.
        scope: owns the engine's threads.
        wake: called from the engine's threads when ``ready`` may have become true; must only set
            a flag or put into a mailbox.
        clock: for pauses and time-outs.
        fetched: see ``SharedFetchState``.
        make_pump: makes the pump of a connection; None: the native core's, if there is one.
    """

    def __init__(  # noqa: PLR0913 - each is another part of the consumer
        self,
        *,
        dialer: BrokerDialer,
        client: ClusterClient,
        metadata: MetadataManager,
        settings: CoreFetchSettings,
        scope: ThreadScope,
        wake: Callable[[], None],
        clock: Clock,
        fetched: Callable[[ResponseCounts], None] | None = None,
        make_pump: MakePump | None = None,
    ) -> None:
        self._dialer = dialer
        self._metadata = metadata
        self._settings = settings
        self._scope = scope
        self._wake = wake
        self._clock = clock
        self._make_pump = make_pump or pump_maker()
        self._view = NOTHING_KNOWN
        self._shared = SharedFetchState(PartitionStates(settings), clock, self._follow)
        if fetched is not None:
            self._shared.fetched = fetched
        self._resolver = PositionResolver(self._shared, client, metadata.update, settings, clock)
        # Reentrant: a signal handler of the caller's thread may call while it is held there.
        self._lock = threading.RLock()
        self._fetchers: dict[Broker, BrokerFetcher] = {}
        self._is_resolving = False
        self._stopped = False
        self._death: BaseException | None = None

    def keep(self, codec: Codec) -> None:
        """Also keep batches of a codec as received; call this only before anything is fetched."""
        settings = self._settings = replace(self._settings, kept_codec=codec)

        def apply(states: PartitionStates, _now_ms: int) -> None:
            states.settings = settings

        self._shared.change(apply)

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions; none is fetched before its ``seek``."""
        self._apply_view()
        self._shared.change(lambda states, _: states.add(partitions))

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions, at once: records buffered of them are dropped."""
        self._shared.change(lambda states, _: states.remove(partitions))

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Continue at another position; drop the partition's buffered records and errors.

        Raises:
            KeyError: the partition is not here.
        """
        self._shared.change(lambda states, _: states.seek(tp, start))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out no records of these partitions, and fetch none; keep the buffered ones."""
        self._shared.change(lambda states, _: states.pause(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Resume partitions after ``pause``."""
        self._shared.change(lambda states, _: states.resume(partitions))

    def paused(self) -> frozenset[TopicPartition]:
        """Return the paused partitions."""
        return self._shared.read(
            lambda states: frozenset(tp for tp, one in states.states.items() if one.is_paused)
        )

    def partitions(self) -> frozenset[TopicPartition]:
        """Return all partitions."""
        return self._shared.read(lambda states: frozenset(states.states))

    def collect(
        self, max_records: int, among: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, RecordSlice]:
        """Take buffered records, partitions in turns, and move their positions past these.

        Args:
            max_records: the most to take, all partitions together; at least 1.
            among: take only from these; None: from all. Other partitions' records stay buffered.

        Returns:
            A slice with at least one record for each partition from which some were taken.

        Raises:
            OffsetOutOfRange: without a reset policy; likewise LogTruncated. The partition waits
                for a ``seek``, as with the next two.
            PartitionFailed: the entry at the position can't be read.
            MessageTooLarge: the record at the position is larger than may be fetched.
            TopicAuthorizationFailed: fetching will be tried again.
            AuthenticationFailed: a broker refuses us; likewise UnsupportedVersion.

            An error is raised only if nothing was taken; else by the next call. A partition that
            waits for a ``seek`` raises its error again whenever there is nothing else to return;
            the others continue.
        """
        return self.collect_as(max_records, lambda taken: taken, among)

    def collect_as(
        self,
        max_records: int,
        make: Callable[[dict[TopicPartition, RecordSlice]], R],
        among: Collection[TopicPartition] | None = None,
    ) -> R:
        """Collect records as ``collect`` does, and return the result of ``make`` on them.

        If ``make`` or a signal handler raises, the positions stay where they were, so that records
        that never arrived do not count as handed out.
        """
        self._apply_view()
        if self._death is not None:
            raise ZkConsumerError(f"the fetching thread died: {self._death!r}") from self._death
        before: collecting.Before = []
        try:
            taken = self._shared.change(
                lambda states, now_ms: collecting.collect(
                    states, max_records, now_ms, among, before
                )
            )
            made = make(taken)
            counters = self._shared.counters
            for piece in taken.values():
                counters.collected_records += len(piece)
                counters.collected_bytes += piece.size_bytes
            return made  # noqa: TRY300 - a signal handler may raise up to here
        except BaseException:
            self._shared.change(lambda states, now_ms: collecting.put_back(states, before, now_ms))
            raise

    def gathering_wait_ms(self, enough: int) -> int:
        """Return how long a poll is to wait for first responses, in ms; see ``collecting``.

        Args:
            enough: number of buffered records that end the wait.
        """
        if not self._shared.read(lambda states: bool(states.fresh)):
            return 0
        return self._shared.change(
            lambda states, now_ms: gathering_wait_ms(states, now_ms, enough=enough)
        )

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Return the caller's position; None if unknown, or the partition is not here."""
        return self._shared.read(lambda states: _state(states, tp, lambda one: one.position))

    def high_watermark(self, tp: TopicPartition) -> int | None:
        """Return the high watermark of the last response; None if not known."""
        return self._offset(tp, lambda one: one.high_watermark)

    def log_start(self, tp: TopicPartition) -> int | None:
        """Return the log start offset; None if not known (brokers before 1.0)."""
        return self._offset(tp, lambda one: one.log_start)

    def lag(self, tp: TopicPartition) -> int | None:
        """Return the records between the position and the readable end; None if not known."""

        def lag_of(state: PartitionState) -> int | None:
            end = readable_end(
                high_watermark=state.high_watermark,
                last_stable_offset=state.last_stable,
                isolation=self._settings.isolation,
            )
            if end is None or state.position is None:
                return None
            return max(0, end - state.position.offset)

        return self._shared.read(lambda states: _state(states, tp, lag_of))

    def stats(self) -> EngineStats:
        """Return the engine's counters and gauges."""

        def numbers(states: PartitionStates) -> EngineStats:
            waiting = [chunk for state in states.states.values() for chunk in state.waiting]
            queues = [
                state.delegated.queue for state in states.delegated.values() if state.delegated
            ]
            return EngineStats(
                **asdict(self._shared.counters),
                buffered_bytes=sum(chunk.memory_bytes for chunk in waiting)
                + sum(queue.queued_bytes for queue in queues),
                buffered_records=sum(len(chunk.records) for chunk in waiting)
                + sum(queue.record_count for queue in queues),
            )

        return self._shared.read(numbers)

    def cluster_changed(self, view: ClusterView) -> None:
        """Apply a new view of the cluster; for the metadata manager's ``on_change``.

        Thread: any. A change not reported here is found by the next ``collect``.
        """
        self._view = view
        self._shared.change(lambda states, _: states.see(view))

    def stop(self) -> None:
        """Have all threads end soon, and close their connections. Thread: any.

        Their scope joins them. Nothing is fetched after that; positions can still be read.
        """
        self._stopped = True
        # Without the lock: this may be a signal handler. Later callers see ``_stopped``.
        for fetcher in list(self._fetchers.values()):
            fetcher.stop()
        self._resolver.stop()

    def _apply_view(self) -> None:
        """Apply the metadata manager's view, in case a change was not reported."""
        view = self._metadata.view
        if view is not self._view:
            self.cluster_changed(view)

    def _offset(self, tp: TopicPartition, of: Callable[[PartitionState], int]) -> int | None:
        found = self._shared.read(lambda states: _state(states, tp, of))
        return None if found is None or found < 0 else found

    def _follow(self, effects: Effects) -> None:
        """Act on effects. Thread: any."""
        if self._stopped:
            return
        for broker in effects.wake:
            self._wake_fetcher(broker)
        if effects.resolve_positions:
            self._wake_resolver()
        if effects.refresh_metadata:
            self._metadata.update()
            self._wake_resolver()
        if effects.notify_caller:
            self._wake()

    def _wake_fetcher(self, broker: Broker) -> None:
        with self._lock:
            fetcher = self._fetchers.get(broker)
            if fetcher is None and not self._stopped:
                line = FetchConnection(
                    broker,
                    self._shared,
                    dial=self._dialer.dial,
                    settings=self._settings,
                    clock=self._clock,
                )
                pump = self._make_pump(line, self._shared, self._settings, self._clock, self._wake)
                fetcher = BrokerFetcher(line, self._clock, lambda: self._retire(broker, line), pump)
                role = f"fetcher-{broker.id}"
                self._scope.spawn(role, fetcher.run, stop=fetcher.stop, on_error=self._die)
                # Not earlier: an interrupt may leave a thread too many, but not one too few.
                self._fetchers[broker] = fetcher
            if fetcher is not None:
                fetcher.wake()

    def _retire(self, broker: Broker, line: FetchConnection) -> bool:
        """Return whether a fetcher without partitions may end."""

        def drop(states: PartitionStates) -> bool:
            # No partition can be added now: waking the fetcher for one needs this lock, too.
            # (In this order only: a signal handler may interrupt a holder of the state's lock.)
            with self._lock:
                if states.of(broker):
                    return False
                fetcher = self._fetchers.get(broker)
                if fetcher is not None and fetcher.line is line:
                    del self._fetchers[broker]
                return True

        return self._shared.read(drop)

    def _wake_resolver(self) -> None:
        with self._lock:
            if not self._is_resolving and not self._stopped:
                self._scope.spawn(
                    "positions", self._resolver.run, stop=self._resolver.stop, on_error=self._die
                )
                self._is_resolving = True
        self._resolver.wake()

    def _die(self, error: BaseException) -> None:
        """Report a thread's death, an error of this program, to the caller."""
        self._death = error
        self._wake()


def _state(
    states: PartitionStates, tp: TopicPartition, of: Callable[[PartitionState], R]
) -> R | None:
    state = states.states.get(tp)
    return None if state is None else of(state)
