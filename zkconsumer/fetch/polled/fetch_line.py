"""The line to one broker: asks for what may be asked, and hands over what comes, turn by turn.

It connects, keeps the session's book, unpacks, and says after each turn how long to rest. The
thread around it is in ``broker_fetcher``.
"""

import logging
from dataclasses import dataclass
from typing import Final

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ProtocolError, TransportError, ZkConsumerError, without_frames
from zkconsumer.fetch.polled.board import Board
from zkconsumer.fetch.polled.completed import Asked, Unpacked, unpack
from zkconsumer.fetch.polled.desk import Counters, Desk
from zkconsumer.fetch.polled.incremental import (
    FIRST_VERSION,
    FetchSessionBook,
    SessionStep,
    without_session,
)
from zkconsumer.fetch.polled.planning import FetchPlan, plan_fetch
from zkconsumer.fetch.polled.requests import answers_of, fetch_request
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.model import Broker
from zkconsumer.net.hedging import HedgePace, Sent, first_to_answer
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.wire.messages.fetch import (
    FIRST_SOFT_BOUNDS,
    FIRST_UNTHROTTLED,
    LAST_BY_NAME,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
)

log = logging.getLogger(__name__)

_Fetching = Sent[NegotiatedConnection, FetchResponse]

_SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


@dataclass(frozen=True, slots=True)
class Rest:
    """How long to wait before the next turn.

    Attributes:
        duration_ms: at most so long; None: until woken.
        can_wake: whether news end it sooner; a pause after a failure they don't.
    """

    duration_ms: int | None
    can_wake: bool = True


AT_ONCE: Final = Rest(0)


class FetchLine:
    """Thread: its fetcher's, but for ``stop``.

    Args:
        broker: whom to fetch from.
        desk: all partitions.
        dialer: connects.
        settings: how to fetch.
        clock: for pauses.
    """

    def __init__(
        self,
        broker: Broker,
        desk: Desk,
        *,
        dialer: BrokerDialer,
        settings: PollFetchSettings,
        clock: Clock,
    ) -> None:
        self._broker = broker
        self._desk = desk
        self._dialer = dialer
        self._settings = settings
        self._clock = clock
        self._book = FetchSessionBook()
        self._connection: NegotiatedConnection | None = None
        self._second: NegotiatedConnection | None = None  # while a hedged request is under way
        self._pace = HedgePace(settings.request_timeout_ms)
        self._version = 0
        self._failures = 0
        self._about = f"fetching from {broker}"
        self._paused_until_ms = 0
        self._refusal: ZkConsumerError | None = None
        self._stopping = False

    def stop(self) -> None:
        """Break off; closing the connection wakes who waits for an answer. Thread: any."""
        self._stopping = True
        for connection in (self._connection, self._second):
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            self._book.lost()

    def turn(self) -> Rest:
        """Connect, or ask once, if there is something to ask."""
        left_ms = self._paused_until_ms - self._clock.now_ms()
        if left_ms > 0:
            return Rest(left_ms, can_wake=False)
        if self._refusal is not None and self._desk.look(self._is_unheard):
            return Rest(self._settings.retry_backoff_max_ms)
        self._refusal = None
        connection = self._connection
        plan = self._plan()
        if not plan.wanted:
            due_ms = plan.due_ms
            return Rest(None if due_ms is None else max(1, due_ms - self._clock.now_ms()))
        if connection is None or not connection.is_idle:
            self._give_back(plan)
            self._connect()
            return AT_ONCE
        heard = self._fetch(connection, plan)
        return AT_ONCE if heard else Rest(plan.rest_ms)

    def _plan(self) -> FetchPlan:
        has_hard_bounds = self._version < FIRST_SOFT_BOUNDS
        return self._desk.change(
            lambda board, now_ms: plan_fetch(
                board, self._broker, now_ms, has_hard_bounds=has_hard_bounds
            )
        )

    def _give_back(self, plan: FetchPlan) -> None:
        """What was asked and is not answered may be asked again."""
        self._desk.change(lambda board, _: board.unanswered(plan.wanted.values()))

    def _connect(self) -> None:
        self.close()
        try:
            connection = self._dialer.dial(self._broker)
            self._connection = connection
            if self._stopping:
                connection.close()
            self._version = connection.version_of(FetchRequest)
        except (TransportError, ProtocolError) as error:
            self._lost(error, was_connected=False)
        except ZkConsumerError as error:
            self._refused(error)

    def _fetch(self, connection: NegotiatedConnection, plan: FetchPlan) -> bool:
        """Ask, and hand over what came; whether anything did."""
        version = self._version
        if not all(one.topic_id for one in plan.wanted.values()):
            version = min(version, LAST_BY_NAME)
        step = self._book.next(
            plan.wanted,
            has_sessions=self._settings.sessions and version >= FIRST_VERSION,
            by_id=version > LAST_BY_NAME,
        )
        started_ms = self._clock.now_ms()
        self._desk.count(_begun)
        try:
            step, answer = self._ask(connection, step, version, plan.max_wait_ms)
        except ZkConsumerError as error:
            self._desk.count(_failed)
            self._book.lost()
            self._give_back(plan)
            if isinstance(error, TransportError | ProtocolError):
                self._lost(error, was_connected=True)
            else:
                self._refused(error)
            return False
        duration_ms = self._clock.now_ms() - started_ms
        self._desk.count(lambda counters: _ended(counters, duration_ms))
        try:
            return self._take(step, answer, duration_ms)
        finally:
            self._give_back(plan)
            self._pause_for_quota(answer.throttle_time_ms)

    def _ask(
        self, connection: NegotiatedConnection, step: SessionStep, version: int, max_wait_ms: int
    ) -> tuple[SessionStep, FetchResponse]:
        """Ask; where the broker is silent, once more; what was answered first, and the answer."""
        timeout_ms = self._settings.request_timeout_ms + max_wait_ms
        # Of its session nobody knows how far the broker is.
        again = without_session(step.all_asked, step.topic_ids)

        def begin(on: NegotiatedConnection, asked: SessionStep) -> _Fetching:
            request = fetch_request(asked, self._settings, max_wait_ms=max_wait_ms)
            return Sent(on, on.begin(request, timeout_ms=timeout_ms, at_most=version))

        def hedge(failure: ZkConsumerError | None) -> _Fetching | None:
            if failure is not None or self._second is not None:
                return None
            log.info("%s: silent at a Fetch: asked again over a second connection", self._broker)
            second = self._dialer.dial(self._broker, timeout_ms=self._pace.quiet_ms)
            self._second = second
            if self._stopping:
                second.close()
            return begin(second, again)

        self._second = None
        answered: _Fetching = first_to_answer(
            begin(connection, step),
            hedge,
            quiet_ms=self._pace.quiet_ms + max_wait_ms,
            timeout_ms=timeout_ms,
            clock=self._clock,
            whom=self._broker,
        )
        is_second = self._settle(answered.connection)
        return again if is_second else step, answered.answer()

    def _settle(self, answered: NegotiatedConnection) -> bool:
        """Go on with the connection that was answered first; whether it is the second."""
        second, self._second = self._second, None
        if answered is second:
            self._connection = answered
            self._book.lost()
            self._pace.won()
            if self._stopping:
                answered.close()
            return True
        if second is not None:
            self._pace.lost()
        else:
            self._pace.answered()
        return False

    def _take(self, step: SessionStep, answer: FetchResponse, duration_ms: int) -> bool:
        answers = answers_of(answer, step)
        if not self._book.answered(step, answer.error_code, answer.session_id, answers.keys()):
            log.info("%s: the fetch session ends: error %d", self._broker, answer.error_code)
            if answer.error_code not in _SESSION_ERRORS:
                self._pause()
            return True
        self._failures = 0
        self._desk.repeats.works(self._about)
        enough_bytes = 2 * self._settings.max_bytes
        size_bytes = records = 0
        for tp, part in answers.items():
            asked = step.all_asked.get(tp)
            if asked is None or not self._counts(asked):
                continue
            unpacked = self._unpack(asked, part, enough_bytes)
            enough_bytes -= 0 if unpacked.chunk is None else unpacked.chunk.memory_bytes
            size_bytes += unpacked.wire_bytes
            records += unpacked.count
            self._hand_over(asked, part, unpacked)
        self._desk.fetched(size_bytes, records, duration_ms)
        return any(len(part.records) or part.error_code for part in answers.values())

    def _counts(self, asked: Asked) -> bool:
        return self._desk.look(lambda board: board.counts(asked))

    def _unpack(self, asked: Asked, part: FetchedPartition, enough_bytes: int) -> Unpacked:
        if part.error_code != ErrorCode.NONE:
            return Unpacked()
        return unpack(
            asked,
            part.records,
            part.aborted_transactions,
            self._settings,
            max(enough_bytes, self._settings.max_partition_bytes),
            part.high_watermark,
        )

    def _hand_over(self, asked: Asked, part: FetchedPartition, unpacked: Unpacked) -> None:
        def take(board: Board, now_ms: int) -> None:
            board.arrived(((asked, part, unpacked),), now_ms)

        self._desk.count(lambda counters: _brought(counters, unpacked))
        self._desk.change(take)

    def _lost(self, error: ZkConsumerError, *, was_connected: bool) -> None:
        """Connect anew; at once, if this is the first failure: brokers close idle connections."""
        self.close()
        if self._stopping:
            return
        is_first = was_connected and not self._failures
        self._tell(error, is_first=is_first)
        self._desk.change(lambda board, _: board.broker_lost(self._broker))
        if is_first:
            self._failures = 1
        else:
            self._pause()

    def _tell(self, error: ZkConsumerError, *, is_first: bool) -> None:
        """An outage is told once, not with every try; a connection that just ends is no outage."""
        text = f"{self._about}: {error}"
        if is_first:
            log.info("%s", text)
        else:
            self._desk.repeats.happened(self._about, text)

    def _refused(self, error: ZkConsumerError) -> None:
        """Tell the caller, and don't try again before he has heard it."""
        self.close()
        if self._stopping:
            return
        self._desk.repeats.happened(f"{self._broker} refuses us", f"{self._broker}: {error}")
        self._refusal = without_frames(error)
        self._desk.change(lambda board, _: board.broker_refuses(self._broker, error))
        self._paused_until_ms = self._clock.now_ms() + self._settings.retry_backoff_max_ms

    def _is_unheard(self, board: Board) -> bool:
        return board.failures.get(self._broker) is self._refusal

    def _pause(self) -> None:
        """After a failure, longer with each one in a row."""
        settings = self._settings
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0)
        self._paused_until_ms = self._clock.now_ms() + backoff.delay_ms(self._failures, 0)
        self._failures += 1

    def _pause_for_quota(self, throttle_ms: int) -> None:
        if throttle_ms > 0:
            self._desk.count(lambda counters: _throttled(counters, throttle_ms))
            if self._version >= FIRST_UNTHROTTLED:
                self._paused_until_ms = self._clock.now_ms() + throttle_ms


def _begun(counters: Counters) -> None:
    counters.in_flight += 1


def _failed(counters: Counters) -> None:
    counters.in_flight -= 1
    counters.failed_fetches += 1


def _ended(counters: Counters, duration_ms: int) -> None:
    counters.in_flight -= 1
    counters.fetches += 1
    counters.fetch_time_ms += duration_ms


def _brought(counters: Counters, unpacked: Unpacked) -> None:
    counters.fetched_bytes += unpacked.wire_bytes
    counters.fetched_records += unpacked.count


def _throttled(counters: Counters, throttle_ms: int) -> None:
    counters.throttle_time_ms += throttle_ms
