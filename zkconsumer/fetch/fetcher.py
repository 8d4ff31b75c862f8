"""The Python fetch loop: a thread that runs a ``FetchSession`` against one broker.

It sends the newest version of Fetch that the broker supports, outside of any fetch session, for
all that is in the log; a broker that can't list its versions gets those of 0.8.

Source: Kafka 0.8.2.2 ``ConsumerFetcherThread``. It never blocks on a full queue: it fetches the
other partitions meanwhile, and waits in its mailbox if nothing can be fetched.
"""

import logging
from dataclasses import dataclass
from typing import TypeVar

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.error_codes import error_name
from zkconsumer.errors import (
    BrokerError,
    ProtocolError,
    RequestTimedOut,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.core.hedged_exchange import HedgedExchange
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.loop import LoopKey, LoopReport
from zkconsumer.fetch.session import Deliver, FetchSession, LeaderUnusable, OffsetReset, Outcome
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import TopicPartition
from zkconsumer.net.negotiated import Dial, NegotiatedConnection
from zkconsumer.observe import SILENT, Fetched, Observation, PositionReset
from zkconsumer.repeats import Repeats
from zkconsumer.scope import Mailbox
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import Request
from zkconsumer.wire.messages.fetch import (
    LAST_BY_NAME,
    FetchRequest,
    FetchResponse,
)
from zkconsumer.wire.versions import OLDEST, version_for

log = logging.getLogger(__name__)
R = TypeVar("R")

_OLD_FETCH = version_for(ApiKey.FETCH, OLDEST)
_OLD_LIST_OFFSETS = version_for(ApiKey.LIST_OFFSETS, OLDEST)
"""Later versions return one offset as this does, in another format."""

_LOOK_AROUND_MS = 1_000
"""Maximum wait for capacity, ms: a signal handler that raises may swallow the wakeup."""


@dataclass(frozen=True, slots=True, eq=False)
class _Added:
    """See ``FetchLoop.add``; in the mailbox None only wakes."""

    claim: PartitionClaim
    fetch_offset: int | None
    jumps: bool


def _newest_fetch(connection: NegotiatedConnection) -> int:
    """Return the newest version of Fetch to send to a broker, whatever else it supports."""
    return LAST_BY_NAME if connection.versions.generation is None else _OLD_FETCH


def deserves_another(error: ZkConsumerError) -> bool:
    """Return whether to reconnect and retry: idle connections and restarts end alike.

    A request that timed out was already hedged over a second connection; and authentication
    failures and missing versions are for the leader finder to judge.
    """
    passing = isinstance(error, TransportError | ProtocolError)
    return passing and not isinstance(error, RequestTimedOut)


class PythonFetchLoop:
    """Fetch from one broker in Python: the reference behaviour for every loop."""

    def __init__(  # noqa: PLR0913 - each is another part of the connector
        self,
        key: LoopKey,
        report: LoopReport,
        *,
        settings: FetchSettings,
        dial: Dial,
        observation: Observation = SILENT,
        clock: Clock | None = None,
        repeats: Repeats | None = None,
    ) -> None:
        self._key = key
        self._report = report
        self._settings = settings
        self._observation = observation
        self._clock = clock or SystemClock()
        self._repeats = repeats or Repeats(log, self._clock)
        self._about = f"fetching from {key.broker}"
        self._session = FetchSession(settings)
        self._mailbox: Mailbox[_Added | None] = Mailbox()
        self._line = HedgedExchange(
            key.broker,
            dial,
            settings.request_timeout_ms,
            self._clock,
            self._repeats,
            newest=_newest_fetch,
        )
        self._stopping = False
        self._ended = False
        self._has_failed = False  # the last exchange: one more failure gives all back
        self._added = 0
        self._taken = 0
        self._unpacked = 0
        self._set_up()

    def _set_up(self) -> None:
        """Make what another engine needs besides."""

    def add(self, claim: PartitionClaim, fetch_offset: int | None, *, jumps: bool = False) -> None:
        """See ``FetchLoop``; called by the leader finder only, which therefore may count."""
        self._added += 1
        self._mailbox.put(_Added(claim, fetch_offset, jumps))
        if self._ended:
            # Not all threads know of its end yet: no other code would ever take this out.
            self._return_late()

    def wake(self) -> None:
        """See ``FetchLoop``."""
        self._mailbox.put(None)

    def stop(self) -> None:
        """See ``FetchLoop``. Closing the socket wakes a thread that waits for a response."""
        self._stopping = True
        self._line.stop()
        self._mailbox.put(None)

    def partition_count(self) -> int:
        """See ``FetchLoop``."""
        on_the_way = self._added - self._taken  # first: what is taken meanwhile counts twice
        return on_the_way + len(self._session)

    def run(self) -> None:
        """See ``FetchLoop``."""
        try:
            while not self._stopping:
                self._turn()
        finally:
            self._line.close()
            self._ended = True
            self._accept()
            self._give_back(self._session.release_all("its fetcher ended"))

    def _turn(self) -> None:
        if self._prepare():
            self._fetch_once()

    def _prepare(self) -> bool:
        """Do all that precedes fetching; return False if that was a turn by itself."""
        self._accept()
        self._session.has_hard_bounds = self._line.has_hard_bounds
        had_partitions = len(self._session) > 0
        self._session.drop_inactive()
        if had_partitions and not len(self._session):
            self._report(self._key, ())
        for chunk in list(self._session.pending()):
            self._offer(chunk)
        self._unpack()
        quiet_ms = self._line.pause_left_ms()
        if quiet_ms > 0:
            self._take(self._mailbox.get(min(quiet_ms, _LOOK_AROUND_MS)))
            return False
        return not (self._ask_for_starts() or self._ask_for_ends())

    def _ask_for_starts(self) -> bool:
        """Look up where partitions without an offset begin; return whether there are any."""
        request = self._session.offsets_request()
        if request is None:
            return False
        offsets = self._exchange(request)
        if offsets is not None:
            self._act(self._session.receive_offsets(offsets))
        return True

    def _ask_for_ends(self) -> bool:
        """Look up the ends of logs said to lack an offset; return whether there are any."""
        requests = self._session.ends_requests()
        if requests is None:
            return False
        starts = self._exchange(requests[0])
        ends = None if starts is None else self._exchange(requests[1])
        if starts is not None and ends is not None:
            self._act(self._session.receive_ends(starts, ends))
        return True

    def _fetch_once(self) -> None:
        """Fetch the partitions that are ready, or wait if none is."""
        fetch = self._session.fetch_request(self._has_capacity)
        if fetch is None:
            self._take(self._mailbox.get(_LOOK_AROUND_MS if len(self._session) else None))
            return
        received = self._fetch(fetch)
        if not fetch.max_wait_ms and not received:
            # Wait instead of the broker: here free capacity ends the wait.
            self._take(self._mailbox.get(self._settings.max_wait_ms))

    def _fetch(self, fetch: FetchRequest) -> bool:
        """Fetch, and queue chunks while there is capacity; return whether any data came."""
        started_ms = self._clock.now_ms()
        response = self._exchange(fetch)
        if response is None:
            return False
        return self._take_fetched(fetch, response, self._clock.now_ms() - started_ms)

    def _take_fetched(self, fetch: FetchRequest, response: FetchResponse, duration_ms: int) -> bool:
        """Handle a fetch response; see ``_fetch``."""
        if response.error_code:
            code = response.error_code
            self._give_all_back(BrokerError(code, "Fetch", error_name(code)))
            return False
        self._line.obey_quota(response)
        # This may be the first response in its version, or that of another connection.
        self._session.has_hard_bounds = self._line.has_hard_bounds
        outcomes = self._session.receive_fetch(fetch, response)
        self._act(outcomes)
        self._unpack()
        # From here on nothing may refer to the response: any view of it keeps it in memory.
        self._session.let_go()
        sizes = [len(part.records) for topic in response.topics for part in topic.partitions]
        self._observation.report(
            Fetched(
                broker_id=self._key.broker.id,
                partitions=len(sizes),
                size_bytes=sum(sizes),
                records=self._unpacked,
                duration_ms=duration_ms,
            )
        )
        self._unpacked = 0
        return bool(outcomes) or any(sizes)

    def _unpack(self) -> None:
        """Make chunks of packed sets while there is capacity; a piece of each partition in turn."""
        # If a chunk waits, nothing may pass it: a large one would never fit.
        full = {chunk.claim.sink for chunk in self._session.pending()}
        moved = True
        while moved and not self._stopping:
            moved = False
            for claim in self._to_unpack():
                if claim.sink in full:  # asked once: thousands of partitions may share it
                    continue
                free_bytes = claim.sink.free_bytes(self.wake)
                if not free_bytes:
                    full.add(claim.sink)
                    continue
                moved = True
                chunk = self._session.unpack(claim, free_bytes)
                if chunk is not None:
                    self._unpacked += len(chunk.records)
                    if not self._offer(chunk):
                        full.add(claim.sink)

    def _to_unpack(self) -> list[PartitionClaim]:
        return self._session.packed()

    def _has_capacity(self, sink: ChunkSink) -> bool:
        return sink.free_bytes(self.wake) > 0

    def _return_late(self) -> None:
        """Give back claims added after the end; the session is the dying thread's until then."""
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
            self._session.add(added.claim, added.fetch_offset, jumps=added.jumps)
            self._taken += 1

    def _exchange(self, request: Request[R]) -> R | None:
        """Send a request; on a second failure in a row give all partitions back."""
        try:
            return self._request(request)
        except ZkConsumerError as error:
            self._give_all_back(error)
            return None

    def _give_all_back(self, error: ZkConsumerError) -> None:
        if not self._stopping:
            broker = self._key.broker
            text = f"{broker}: partitions go back to the leader finder: {error}"
            self._repeats.happened(self._about, text)
            self._give_back(self._session.release_all(str(error)))

    def _request(self, request: Request[R]) -> R:
        if not self._has_failed:
            try:
                return self._request_once(request)
            except ZkConsumerError as error:
                if self._stopping or not deserves_another(error):
                    raise
        self._has_failed = False
        return self._request_once(request)

    def _request_once(self, request: Request[R]) -> R:
        is_fetch, line = isinstance(request, FetchRequest), self._line
        waits_ms = self._settings.max_wait_ms if is_fetch else 0
        at_most = None if is_fetch else _OLD_LIST_OFFSETS
        timeout_ms = self._settings.request_timeout_ms + waits_ms
        try:
            first = line.send(line.connection or line.open(), request, timeout_ms, at_most)
            second = line.respond(first, lambda: request, waits_ms=waits_ms, at_most=at_most)
            response = (second or first).response()
        except ZkConsumerError:
            line.close()
            raise
        self._repeats.works(self._about)
        return response

    def _act(self, outcomes: tuple[Outcome, ...]) -> None:
        for outcome in outcomes:
            match outcome:
                case Deliver(chunk):
                    self._offer(chunk)
                case LeaderUnusable():
                    self._give_back((outcome,))
                case OffsetReset(claim, offset):
                    self._log_reset(claim.topic_partition, offset)

    def _log_reset(self, tp: TopicPartition, offset: int) -> None:
        edge = "smallest" if self._settings.reset is LogEdge.EARLIEST else "largest"
        log.warning(
            "%s: offset %d is out of range on %s; going on at its %s offset",
            f"{tp}",
            offset,
            self._key.broker,
            edge,
        )
        self._observation.report(PositionReset(tp, offset))

    def _offer(self, chunk: Chunk) -> bool:
        """Queue a chunk, or keep it until there is capacity; return False if it waits."""
        if not chunk.claim.active:
            return True
        if chunk.claim.sink.offer(chunk, self.wake):
            self._session.delivered(chunk)
            return True
        self._session.hold(chunk)
        return False

    def _give_back(self, lost: tuple[LeaderUnusable, ...]) -> None:
        if lost:
            self._report(self._key, lost)
