"""The thread that fetches from one broker: one request in flight, unpacked here, then the next.

It asks for whatever may be asked while the caller works with what came before.
"""

import logging
from collections.abc import Callable

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.errors import ProtocolError, TransportError, ZkConsumerError
from zkconsumer.fetch.polled.board import Board
from zkconsumer.fetch.polled.completed import Asked, Unpacked, unpack
from zkconsumer.fetch.polled.desk import Counters, Desk
from zkconsumer.fetch.polled.incremental import FIRST_VERSION, FetchSessionBook, SessionStep
from zkconsumer.fetch.polled.planning import FetchPlan, plan_fetch
from zkconsumer.fetch.polled.requests import answers_of, fetch_request
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.scope import Mailbox
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse

log = logging.getLogger(__name__)

_FIRST_SOFT_BOUNDS = 3
"""The first version of Fetch that bounds the whole answer, and cuts no batch."""

_FIRST_UNTHROTTLED = 8
"""From this version of Fetch on the broker answers at once, and leaves it to us to pause."""

_WAKE = "look again"

_IDLE_MS = 60_000
"""A fetcher without partitions ends after so long."""

_SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class BrokerFetcher:
    """Thread: its own, but for ``wake`` and ``stop``.

    Args:
        broker: whom to fetch from.
        desk: all partitions.
        dialer: connects.
        settings: how to fetch.
        clock: for pauses.
        retire: asked after a time without partitions; whether to end, and nobody will wake it more.
    """

    def __init__(
        self,
        broker: Broker,
        desk: Desk,
        *,
        dialer: BrokerDialer,
        settings: PollFetchSettings,
        clock: Clock,
        retire: Callable[[Broker], bool],
    ) -> None:
        self._broker = broker
        self._desk = desk
        self._dialer = dialer
        self._settings = settings
        self._clock = clock
        self._retire = retire
        self._mailbox: Mailbox[str] = Mailbox()
        self._book = FetchSessionBook()
        self._connection: NegotiatedConnection | None = None
        self._version = 0
        self._failures = 0
        self._stopping = False

    def wake(self) -> None:
        """Look again for what may be asked. Thread: any."""
        self._mailbox.put(_WAKE)

    def stop(self) -> None:
        """End soon; closing the connection wakes who waits for an answer. Thread: any."""
        self._stopping = True
        connection = self._connection
        if connection is not None:
            connection.close()
        self._mailbox.put(_WAKE)

    def run(self) -> None:
        """Fetch until ``stop``."""
        try:
            while not self._stopping and self._turn():
                pass
        finally:
            self._disconnect()

    def _turn(self) -> bool:
        """One request, or one rest; False: there is nothing to do any more."""
        self._mailbox.drain()
        if self._connection is None or not self._connection.is_idle:
            return self._get_ready()
        plan = self._plan()
        if not plan.wanted:
            return self._rest(plan.due_ms)
        heard = self._fetch(self._connection, plan)
        if not heard and plan.rest_ms:
            self._mailbox.get(plan.rest_ms)
        return True

    def _get_ready(self) -> bool:
        """Connect, if there is something to ask."""
        plan = self._plan()
        self._desk.change(lambda board, _: board.unanswered(plan.wanted.values()))
        if not plan.wanted:
            return self._rest(plan.due_ms)
        self._disconnect()
        try:
            connection = self._dialer.dial(self._broker)
        except (TransportError, ProtocolError) as error:
            self._lost(error)
            return True
        except ZkConsumerError as error:
            self._refused(error)
            return True
        self._connection = connection
        if self._stopping:
            connection.close()
            return False
        try:
            self._version = connection.version_of(FetchRequest)
        except ZkConsumerError as error:
            self._refused(error)
        return True

    def _plan(self) -> FetchPlan:
        has_hard_bounds = self._version < _FIRST_SOFT_BOUNDS
        return self._desk.change(
            lambda board, now_ms: plan_fetch(
                board, self._broker, now_ms, has_hard_bounds=has_hard_bounds
            )
        )

    def _fetch(self, connection: NegotiatedConnection, plan: FetchPlan) -> bool:
        """Ask, and hand over what came; whether anything did."""
        step = self._book.next(plan.wanted, has_sessions=self._version >= FIRST_VERSION)
        request = fetch_request(step, self._settings, max_wait_ms=plan.max_wait_ms)
        started_ms = self._clock.now_ms()
        self._desk.count(_begun)
        try:
            timeout_ms = self._settings.request_timeout_ms + plan.max_wait_ms
            answer = connection.call(request, timeout_ms=timeout_ms, at_most=self._version)
        except (TransportError, ProtocolError) as error:
            self._desk.count(_failed)
            self._book.lost()
            self._give_back(step)
            self._lost(error)
            return False
        except ZkConsumerError as error:
            self._desk.count(_failed)
            self._book.lost()
            self._give_back(step)
            self._refused(error)
            return False
        duration_ms = self._clock.now_ms() - started_ms
        self._desk.count(lambda counters: _ended(counters, duration_ms))
        heard = self._take(step, answer)
        self._give_back(step)
        self._pause_for_quota(answer.throttle_time_ms)
        return heard

    def _take(self, step: SessionStep, answer: FetchResponse) -> bool:
        answers = answers_of(answer)
        if not self._book.answered(step, answer.error_code, answer.session_id, answers.keys()):
            log.info("%s: fetch session ends: error %d", self._broker, answer.error_code)
            if answer.error_code not in _SESSION_ERRORS:
                self._pause()
            return True
        self._failures = 0
        enough_bytes = 2 * self._settings.max_bytes
        for tp, part in answers.items():
            asked = step.all_asked.get(tp)
            if asked is None or not self._counts(asked):
                continue
            unpacked = self._unpack(asked, part, enough_bytes)
            enough_bytes -= 0 if unpacked.chunk is None else unpacked.chunk.memory_bytes
            self._hand_over(asked, part, unpacked)
        return bool(answers)

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
        )

    def _hand_over(self, asked: Asked, part: FetchedPartition, unpacked: Unpacked) -> None:
        def take(board: Board, now_ms: int) -> None:
            board.arrived(((asked, part, unpacked),), now_ms)

        self._desk.count(lambda counters: _brought(counters, unpacked))
        self._desk.change(take)

    def _give_back(self, step: SessionStep) -> None:
        """What was asked and is not answered may be asked again."""
        self._desk.change(lambda board, _: board.unanswered(step.all_asked.values()))

    def _lost(self, error: ZkConsumerError) -> None:
        """Connect anew; at once, if this is the first failure: brokers close idle connections."""
        was_connected = self._connection is not None
        self._disconnect()
        if self._stopping:
            return
        log.warning("%s: %s", self._broker, error)
        self._desk.change(lambda board, _: board.broker_lost(self._broker))
        if was_connected and not self._failures:
            self._failures = 1
        else:
            self._pause()

    def _refused(self, error: ZkConsumerError) -> None:
        """Tell the caller, and don't try again before he has heard it."""
        self._disconnect()
        if self._stopping:
            return
        log.warning("%s: %s", self._broker, error)
        self._desk.change(lambda board, _: board.broker_refuses(self._broker, error))
        while self._desk.look(self._is_unheard):
            self._mailbox.get(self._settings.retry_backoff_max_ms)
        self._wait(self._settings.retry_backoff_max_ms)

    def _is_unheard(self, board: Board) -> bool:
        return (
            not self._stopping and self._broker in board.failures and bool(board.of(self._broker))
        )

    def _pause(self) -> None:
        """After a failure, longer with each one in a row."""
        settings = self._settings
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0)
        self._wait(backoff.delay_ms(self._failures, 0))
        self._failures += 1

    def _pause_for_quota(self, throttle_ms: int) -> None:
        if throttle_ms > 0:
            self._desk.count(lambda counters: _throttled(counters, throttle_ms))
            if self._version >= _FIRST_UNTHROTTLED:
                self._wait(throttle_ms)

    def _wait(self, duration_ms: int) -> None:
        """Wait for so long, or until ``stop``; being woken does not end it."""
        until_ms = self._clock.now_ms() + duration_ms
        while not self._stopping and (left_ms := until_ms - self._clock.now_ms()) > 0:
            self._mailbox.get(left_ms)

    def _rest(self, due_ms: int | None) -> bool:
        """Wait until there may be something to ask; False: nobody will ever ask."""
        if due_ms is not None:
            self._mailbox.get(max(1, due_ms - self._clock.now_ms()))
            return True
        if self._mailbox.get(_IDLE_MS) is None and self._desk.look(self._is_idle):
            return not self._retire(self._broker)
        return True

    def _is_idle(self, board: Board) -> bool:
        return not board.of(self._broker)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
            self._book.lost()


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
