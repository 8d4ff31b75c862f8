"""The Python fetch loop: a thread that fetches from one broker for streams.

It drives one ``FetchConnection`` of the core with the states of its ``StreamPartitions``. It sends
the newest version of Fetch that the broker supports and that names topics by name, outside of any
fetch session, and requests all records in the log; a broker that can't list its versions gets the
version of 0.8.

Source: Kafka 0.8.2.2 ``ConsumerFetcherThread``. Unlike it, this loop never blocks on a full queue:
it fetches the other partitions meanwhile, and waits on its mailbox if nothing can be fetched.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.offset_times import TimedOffset, read_times, times_request
from zkconsumer.errors import ProtocolError, RequestTimedOut, TransportError, ZkConsumerError
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Wait
from zkconsumer.fetch.core.partition_state import PositionLookup
from zkconsumer.fetch.core.positions import begin_lookups
from zkconsumer.fetch.core.shared_state import ResponseCounts, SharedFetchState
from zkconsumer.fetch.core.starts import EARLIEST, LATEST, LogEdge
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.fetch.stream_partitions import OffsetReset, Outcome, StreamPartitions
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import Dial, NegotiatedConnection
from zkconsumer.observe import SILENT, Fetched, Observation, PositionReset
from zkconsumer.repeats import Repeats
from zkconsumer.scope import Mailbox
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import LAST_BY_NAME
from zkconsumer.wire.versions import KNOWN_VERSIONS, OLDEST

log = logging.getLogger(__name__)

_OLD_FETCH = KNOWN_VERSIONS[OLDEST][ApiKey.FETCH].last
_OLD_LIST_OFFSETS = KNOWN_VERSIONS[OLDEST][ApiKey.LIST_OFFSETS].last
"""Later versions also return one offset, but in another format."""

_CAPACITY_CHECK_MS = 1_000
"""Maximum wait for capacity, ms: a signal handler that raises may swallow the wakeup."""

LoopReport = Callable[[tuple[LeaderUnusable, ...]], None]
"""Reports partitions whose leader must be found again; an empty tuple means that the loop has
become idle. It must only put into a mailbox."""


@dataclass(frozen=True, slots=True, eq=False)
class _Added:
    """A partition to add, see ``PythonFetchLoop.add``; None in its place only wakes the thread."""

    claim: PartitionClaim
    fetch_offset: int | None
    jumps: bool


def _newest_fetch(connection: NegotiatedConnection) -> int:
    """Return the newest version of Fetch to send; 0.8's if the broker can't list its versions."""
    return LAST_BY_NAME if connection.versions.generation is None else _OLD_FETCH


def deserves_another(error: ZkConsumerError) -> bool:
    """Return whether to reconnect and retry: a closed idle connection looks like a restart.

    A request that timed out was already hedged over a second connection; authentication failures
    and missing versions are left to the leader finder.
    """
    passing = isinstance(error, TransportError | ProtocolError)
    return passing and not isinstance(error, RequestTimedOut)


class PythonFetchLoop:
    """Fetch from one broker into the chunk queues: the reference behaviour for every loop.

    A loop sends requests, receives, checks and unpacks the responses, and queues the chunks. It
    calls its owner only through ``LoopReport``.
    """

    def __init__(  # noqa: PLR0913 - each is another part of the connector
        self,
        broker: Broker,
        report: LoopReport,
        *,
        settings: FetchSettings,
        dial: Dial,
        observation: Observation = SILENT,
        clock: Clock | None = None,
        repeats: Repeats | None = None,
    ) -> None:
        self._broker = broker
        self._report = report
        self._settings = settings
        self._observation = observation
        self._clock = clock or SystemClock()
        self._repeats = repeats or Repeats(log, self._clock)
        self._about = f"fetching from {broker}"
        self._partitions = StreamPartitions(settings, broker, self.wake)
        # Only this thread uses its lock.
        self._shared = SharedFetchState(
            self._partitions.states, self._clock, self._follow, repeats=self._repeats, warns=False
        )
        self._shared.fetched = self._on_response
        self._line = FetchConnection(
            broker,
            self._shared,
            dial=dial,
            settings=settings,
            clock=self._clock,
            newest=_newest_fetch,
        )
        self._line.may_send_early = self._may_send_early
        self._mailbox: Mailbox[_Added | None] = Mailbox()
        self._stopping = False
        self._ended = False
        self._has_failed = False  # the last exchange: another failure gives all partitions back
        self._is_asking = False  # partitions may wait for their positions
        self._lost: dict[TopicPartition, str] = {}
        self._response: ResponseCounts | None = None  # not reported yet
        self._added = 0
        self._taken = 0
        self._unpacked = 0  # records since the last report
        self._set_up()

    def _set_up(self) -> None:
        """Create the additional objects that another engine needs."""

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """Add a partition. Thread: the leader finder's alone, so counting needs no lock.

        Args:
            claim: its claim.
            fetch_offset: where to continue; None: find its start by ``auto.offset.reset``.
            jumps: whether the stream must first be notified that its position moves to this offset.
        """
        self._added += 1
        self._mailbox.put(_Added(claim, fetch_offset, jumps))
        if self._ended:
            # The caller did not know that the loop had ended: nothing else empties the mailbox.
            self._return_late()

    def wake(self) -> None:
        """Check for partitions whose claims were given up. Thread: any."""
        self._mailbox.put(None)

    def stop(self) -> None:
        """End soon, without queueing any more chunks. Thread: any; never blocks.

        Closing the socket wakes a thread that waits for a response.
        """
        self._stopping = True
        self._line.stop()
        self._mailbox.put(None)

    def partition_count(self) -> int:
        """Return the number of its partitions, including those being added. Thread: any."""
        on_the_way = self._added - self._taken  # first: claims taken meanwhile count twice
        return on_the_way + len(self._partitions)

    def run(self) -> None:
        """Fetch until ``stop``; report the partitions that are left before returning."""
        try:
            while not self._stopping:
                self._turn()
        finally:
            self._line.close()
            self._ended = True
            self._accept()
            self._give_back(self._partitions.release_all("its fetcher ended"))

    def _turn(self) -> None:
        if self._prepare():
            self._fetch_once()

    def _prepare(self) -> bool:
        """Do everything that precedes fetching; return False if that was a turn by itself."""
        self._accept()
        had_partitions = len(self._partitions) > 0
        self._partitions.drop_inactive()
        if had_partitions and not len(self._partitions):
            self._report(())
        for chunk in list(self._partitions.pending()):
            self._offer(chunk)
        self._unpack()
        quiet_ms = self._line.exchange.pause_left_ms()
        if quiet_ms > 0:
            self._wait(Wait(quiet_ms, can_wake=False))
            return False
        if self._line.has_early:
            return True  # the connection has one request in flight
        return not (self._is_asking and self._look_up())

    def _fetch_once(self) -> None:
        """Fetch the partitions that are ready, or wait if none is."""
        self._partitions.begin_turn()
        wait = self._line.turn()
        if self._after_exchange():
            self._wait(wait)

    def _may_send_early(self, _connection: NegotiatedConnection, _arriving_bytes: int) -> bool:
        """Return whether nothing comes first: added partitions, lookups of positions, a stop."""
        return self._added == self._taken and not self._is_asking and not self._stopping

    def _wait(self, wait: Wait) -> None:
        """Wait for the next turn; freed capacity, or an added partition, ends the wait."""
        if wait.duration_ms is None:
            self._take(self._mailbox.get(_CAPACITY_CHECK_MS if len(self._partitions) else None))
        elif not wait.can_wake:
            self._take(self._mailbox.get(min(wait.duration_ms, _CAPACITY_CHECK_MS)))
        elif wait.duration_ms > 0:
            self._take(self._mailbox.get(wait.duration_ms))

    # --- positions ------------------------------------------------------------------------

    def _look_up(self) -> bool:
        """Look up starts, and ends of logs that may lack an offset; return whether any were due."""
        lookups = self._shared.change(begin_lookups)
        if lookups.resets:
            self._look_up_starts([lookup for lookup, _ in lookups.resets])
        if lookups.edges and len(self._partitions):
            self._look_up_ends(lookups.edges)
        self._is_asking = bool(lookups.all())
        return self._is_asking

    def _look_up_starts(self, lookups: Sequence[PositionLookup]) -> None:
        found = self._list(lookups, self._settings.reset)
        if found is not None:
            self._act(
                self._shared.change(
                    lambda _, now_ms: self._partitions.take_starts(lookups, found, now_ms)
                )
            )

    def _look_up_ends(self, lookups: Sequence[PositionLookup]) -> None:
        starts = self._list(lookups, EARLIEST)
        ends = None if starts is None else self._list(lookups, LATEST)
        if starts is not None and ends is not None:
            self._act(
                self._shared.change(
                    lambda _, now_ms: self._partitions.take_ends(lookups, starts, ends, now_ms)
                )
            )

    def _list(
        self, lookups: Sequence[PositionLookup], edge: LogEdge
    ) -> Mapping[TopicPartition, TimedOffset | int] | None:
        """Look up one end of logs; return None after handling a failure."""
        request = times_request({lookup.topic_partition: int(edge) for lookup in lookups})
        exchange, timeout_ms = self._line.exchange, self._settings.request_timeout_ms
        try:
            connection = exchange.connection or exchange.open()
            first = exchange.send(connection, request, timeout_ms, _OLD_LIST_OFFSETS)
            second = exchange.respond(first, lambda: request, at_most=_OLD_LIST_OFFSETS)
            response = (second or first).response()
        except ZkConsumerError as error:
            self._shared.change(lambda states, _: states.unanswered_lookups(lookups))
            self._on_failure(error)
            return None
        self._has_failed = False
        self._repeats.works(self._about)
        return read_times(response, version=_OLD_LIST_OFFSETS)

    # --- responses ------------------------------------------------------------------------

    def _follow(self, effects: Effects) -> None:
        self._is_asking = self._is_asking or effects.resolve_positions
        self._lost |= effects.lost

    def _on_response(self, counts: ResponseCounts) -> None:
        self._has_failed = False
        self._response = counts

    def _on_failure(self, error: ZkConsumerError) -> None:
        """Reconnect after a failure; at the second in a row give all partitions back."""
        self._line.close()
        if not self._has_failed and deserves_another(error):
            self._has_failed = True
        else:
            self._has_failed = False
            self._give_all_back(error)

    def _after_exchange(self) -> bool:
        """Act on a failure, or on a response; return whether there was no failure."""
        failure = self._line.take_failure()
        if failure is not None:
            self._on_failure(failure)
            return False
        self._settle()
        self._take_response()
        return True

    def _settle(self) -> None:
        """Act on responses' results; give back the partitions that can't be fetched here."""
        lost, self._lost = self._lost, {}
        self._act(self._partitions.settle(lost))

    def _take_response(self) -> None:
        """Queue chunks of a response while there is capacity, and report the response."""
        counts, self._response = self._response, None
        if counts is None:
            return
        self._unpack()
        # From here on nothing may refer to the response: any view of it keeps it in memory.
        self._partitions.let_go()
        self._observation.report(
            Fetched(
                broker_id=self._broker.id,
                partitions=counts.partitions,
                size_bytes=counts.size_bytes,
                records=self._unpacked,
                duration_ms=counts.duration_ms,
            )
        )
        self._unpacked = 0

    def _unpack(self) -> None:
        """Unpack sets into chunks while there is capacity, a piece of each partition in turn."""
        # Nothing may overtake a chunk that waits: a large one would never fit.
        full = {chunk.claim.sink for chunk in self._partitions.pending()}
        moved = True
        while moved and not self._stopping:
            moved = False
            for claim in self._to_unpack():
                if claim.sink in full:  # checked once: thousands of partitions may share it
                    continue
                free_bytes = claim.sink.free_bytes(self.wake)
                if not free_bytes:
                    full.add(claim.sink)
                    continue
                moved = True
                chunk = self._partitions.unpack(claim, free_bytes, self._clock.now_ms())
                if chunk is not None:
                    self._unpacked += len(chunk.records)
                    if not self._offer(chunk):
                        full.add(claim.sink)

    def _to_unpack(self) -> list[PartitionClaim]:
        return self._partitions.packed()

    # --- partitions -----------------------------------------------------------------------

    def _return_late(self) -> None:
        """Give back claims added after the thread's end; it gave the earlier ones back itself."""
        for added in self._mailbox.drain():
            if added is not None:
                self._taken += 1
                lost = LeaderUnusable(
                    added.claim, added.fetch_offset, "its fetcher ended", jumps=added.jumps
                )
                self._give_back((lost,))

    def _accept(self) -> None:
        for added in self._mailbox.drain():
            self._take(added)

    def _take(self, added: _Added | None) -> None:
        if added is not None:
            self._shared.change(
                lambda _states, _now_ms: self._partitions.add(
                    added.claim, added.fetch_offset, jumps=added.jumps
                )
            )
            self._taken += 1

    def _act(self, outcomes: Iterable[Outcome]) -> None:
        for outcome in outcomes:
            match outcome:
                case Chunk():
                    self._offer(outcome)
                case LeaderUnusable():
                    self._give_back((outcome,))
                case OffsetReset(claim, offset):
                    self._log_reset(claim.topic_partition, offset)

    def _log_reset(self, tp: TopicPartition, offset: int) -> None:
        edge = "smallest" if self._settings.reset is LogEdge.EARLIEST else "largest"
        log.warning(
            "%s: offset %d is out of range on %s; continuing at its %s offset",
            f"{tp}",
            offset,
            self._broker,
            edge,
        )
        self._observation.report(PositionReset(tp, offset))

    def _offer(self, chunk: Chunk) -> bool:
        """Queue a chunk, or keep it until there is capacity; return False if it waits."""
        if not chunk.claim.active:
            return True
        if chunk.claim.sink.offer(chunk, self.wake):
            self._partitions.delivered(chunk)
            return True
        self._partitions.hold(chunk)
        return False

    def _give_all_back(self, error: ZkConsumerError) -> None:
        if not self._stopping:
            broker = self._broker
            text = f"{broker}: looking up the leaders of its partitions again: {error}"
            self._repeats.happened(self._about, text)
            self._lost.clear()
            self._give_back(self._partitions.release_all(str(error)))

    def _give_back(self, lost: tuple[LeaderUnusable, ...]) -> None:
        if lost:
            self._report(lost)
