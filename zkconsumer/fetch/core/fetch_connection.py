"""Fetch from one broker: send requests and hand over responses, turn by turn.

A turn connects, tracks the fetch session, unpacks, and returns how long to wait before the next.
The thread is the caller's: that of ``polled.broker_fetcher``, ``fetcher`` or a range's reader.
If the headers of a response hold the next fetch offsets, the next request is sent before unpacking,
and its response belongs to the next turn.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from zkconsumer.backoff import Backoff
from zkconsumer.clock import Clock
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    ProtocolError,
    TransportError,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.fetch.core.ahead import look_ahead
from zkconsumer.fetch.core.completed import NOTHING, PartitionRequest, Unpacked, unpack
from zkconsumer.fetch.core.hedged_exchange import HedgedExchange, Newest
from zkconsumer.fetch.core.incremental import (
    FIRST_VERSION,
    FetchSessionState,
    SessionStep,
    without_session,
)
from zkconsumer.fetch.core.partition_states import Arrived, PartitionStates
from zkconsumer.fetch.core.planning import Arriving, FetchPlan, plan_fetch
from zkconsumer.fetch.core.requests import entries_of, fetch_request, left_out, responses_of
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import Counters, ResponseCounts, SharedFetchState
from zkconsumer.model import Broker
from zkconsumer.net.hedging import Sent
from zkconsumer.net.negotiated import Dial, NegotiatedConnection
from zkconsumer.wire.messages.fetch import (
    FETCH,
    LAST_BY_NAME,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
)

log = logging.getLogger(__name__)

_Fetching = Sent[FetchResponse]

MaySendEarly = Callable[[NegotiatedConnection, int], bool]
"""Returns whether to send a request over a connection before the last response is unpacked.

The number is the memory, in bytes, that this response will take.
"""

_SESSION_ERRORS = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)


class Wait(NamedTuple):
    """How long to wait before the next turn.

    Attributes:
        duration_ms: the longest wait; None: until woken.
        can_wake: whether a wakeup ends it sooner; False for a pause after a failure or for a quota.
    """

    duration_ms: int | None
    can_wake: bool = True


NO_WAIT: Final = Wait(0)


class _SentFetch(NamedTuple):
    """Hold a request in flight.

    Attributes:
        plan: the planned request.
        step: its session step.
        version: version of Fetch.
        sent_ms: time of sending.
        sent: the pending response.
    """

    plan: FetchPlan
    step: SessionStep
    version: int
    sent_ms: int
    sent: _Fetching


class FetchConnection:
    """Fetch from one broker. Thread: its fetcher's, but for ``stop``; it has none of its own.

    Args:
        broker: the broker to fetch from.
        shared: state of all partitions.
        dial: opens connections.
        settings: fetch settings.
        clock: for pauses.
        newest: see ``HedgedExchange``.

    Attributes:
        broker: the broker.
        may_send_early: see ``MaySendEarly``; its owner may replace the default, always True.
        exchange: its connection, for requests between two turns.
        failure: the failure since the last valid response; None: none.
    """

    def __init__(
        self,
        broker: Broker,
        shared: SharedFetchState,
        *,
        dial: Dial,
        settings: CoreFetchSettings,
        clock: Clock,
        newest: Newest = lambda _connection: FETCH.last,
    ) -> None:
        self.broker = broker
        self.may_send_early: MaySendEarly = lambda _connection, _arriving_bytes: True
        self._shared = shared
        self._settings = settings
        self._clock = clock
        self._claims = FetchSessionState()
        self.exchange = HedgedExchange(
            broker, dial, settings.request_timeout_ms, clock, shared.repeats, newest=newest
        )
        self._early: _SentFetch | None = None
        self._failures = 0
        self._about = f"fetching from {broker}"
        self._refusal: ZkConsumerError | None = None
        self.failure: ZkConsumerError | None = None
        self._stopping = False

    @property
    def has_early(self) -> bool:
        """Whether an early request is in flight; the next turn takes its response."""
        return self._early is not None

    def stop(self) -> None:
        """Stop; closing the connection wakes a thread that waits for a response. Thread: any."""
        self._stopping = True
        self.exchange.stop()

    def close(self) -> None:
        """Close the connection and drop its requests in flight."""
        early, self._early = self._early, None
        if early is not None:
            self._unanswered(early.plan)
        if self.exchange.close():
            self._claims.on_response_lost()

    def send_early(self) -> None:
        """Send the next request if none is in flight; its response is the next turn's."""
        connection = self.exchange.connection
        if self._early is not None or connection is None or not connection.is_idle:
            return
        if self.exchange.pause_left_ms() > 0:
            return
        plan = self._plan()
        if plan.wanted:
            self._early = self._begin(connection, plan)

    def take_failure(self) -> ZkConsumerError | None:
        """Return the failure since the last valid response, and forget it; None: none."""
        failure, self.failure = self.failure, None
        return failure

    def turn(self) -> Wait:
        """Connect, or send a request if one is due; or receive the response to an early one."""
        early, self._early = self._early, None
        if early is not None:
            return self._received(early)
        left_ms = self.exchange.pause_left_ms()
        if left_ms > 0:
            return Wait(left_ms, can_wake=False)
        if self._refusal is not None and self._shared.read(self._is_unheard):
            return Wait(self._settings.retry_backoff_max_ms)
        self._refusal = None
        connection = self.exchange.connection
        plan = self._plan()
        if not plan.wanted:
            due_ms = plan.due_ms
            return Wait(None if due_ms is None else max(1, due_ms - self._clock.now_ms()))
        if connection is None or not connection.is_idle:
            self._give_back(plan.wanted.values())
            self._connect()
            return NO_WAIT
        sent_fetch = self._begin(connection, plan)
        return NO_WAIT if sent_fetch is None else self._received(sent_fetch)

    def _plan(self, arriving: Collection[Arriving] = ()) -> FetchPlan:
        has_hard_bounds = self.exchange.has_hard_bounds
        return self._shared.change(
            lambda states, now_ms: begin_fetch(
                states, self.broker, now_ms, has_hard_bounds=has_hard_bounds, arriving=arriving
            )
        )

    def _give_back(self, requests: Iterable[PartitionRequest]) -> None:
        """Release requests without a response, so that their partitions may be requested again."""
        self._shared.change(lambda states, _: states.unanswered(requests))

    def _unanswered(self, plan: FetchPlan) -> None:
        """Release all partitions of a request that gets no response."""
        self._shared.count(Counters(in_flight=-1, failed_fetches=1))
        self._claims.on_response_lost()
        self._give_back(plan.wanted.values())

    def _connect(self) -> None:
        self.close()
        try:
            self.exchange.open()
        except (TransportError, ProtocolError) as error:
            self._lost(error, was_connected=False)
        except ZkConsumerError as error:
            self._refused(error)

    def _begin(self, connection: NegotiatedConnection, plan: FetchPlan) -> _SentFetch | None:
        """Send a request; return None after handling a failure to send."""
        version = self.exchange.fetch_version
        if not all(request.topic_id for request in plan.wanted.values()):
            version = min(version, LAST_BY_NAME)
        step = self._claims.next(
            plan.wanted,
            has_sessions=self._settings.sessions and version >= FIRST_VERSION,
            by_id=version > LAST_BY_NAME,
        )
        self._shared.count(Counters(in_flight=1))
        try:
            request = self._request(step, plan.max_wait_ms)
            timeout_ms = self._settings.request_timeout_ms + plan.max_wait_ms
            sent = self.exchange.send(connection, request, timeout_ms, version)
        except ZkConsumerError as error:
            self._unanswered(plan)
            self.broke_off(error)
            return None
        return _SentFetch(plan, step, version, self._clock.now_ms(), sent)

    def _request(self, step: SessionStep, max_wait_ms: int) -> FetchRequest:
        return fetch_request(self._settings, entries_of(step), max_wait_ms=max_wait_ms, step=step)

    def _received(self, sent_fetch: _SentFetch) -> Wait:
        """Wait for the response and hand it over."""
        try:
            step, response = self._respond(sent_fetch)
        except ZkConsumerError as error:
            self._unanswered(sent_fetch.plan)
            self.broke_off(error)
            return Wait(sent_fetch.plan.rest_ms)
        duration_ms = self._clock.now_ms() - sent_fetch.sent_ms
        self._shared.count(Counters(in_flight=-1, fetches=1))
        received = self.take(step, response, duration_ms)
        return NO_WAIT if received else Wait(sent_fetch.plan.rest_ms)

    def broke_off(self, error: ZkConsumerError) -> None:
        """Act on an error that ended the connection: reconnect, or report a refusal."""
        if isinstance(error, TransportError | ProtocolError):
            self._lost(error, was_connected=True)
        else:
            self._refused(error)

    def _respond(self, sent_fetch: _SentFetch) -> tuple[SessionStep, FetchResponse]:
        """Wait for the response, hedged if the broker is silent; return it and its session step."""
        max_wait_ms = sent_fetch.plan.max_wait_ms
        # The broker's state of the session is unknown.
        again = without_session(sent_fetch.step.requests, sent_fetch.step.topic_ids)
        second = self.exchange.respond(
            sent_fetch.sent,
            lambda: self._request(again, max_wait_ms),
            waits_ms=max_wait_ms,
            at_most=sent_fetch.version,
        )
        if second is None:
            return sent_fetch.step, sent_fetch.sent.response()
        self._claims.on_response_lost()
        return again, second.response()

    def take(self, step: SessionStep, response: FetchResponse, duration_ms: int) -> bool:
        """Hand over a response; return whether it has records or errors.

        Args:
            step: the session step of the request that it answers.
            response: the response.
            duration_ms: time since the request was sent.
        """
        try:
            return self._take(step, response, duration_ms)
        finally:
            self._give_back(step.requests.values())
            self._pause_for_quota(response)

    def _take(self, step: SessionStep, response: FetchResponse, duration_ms: int) -> bool:
        responses = responses_of(response, step)
        if not self._claims.on_response(
            step, response.error_code, response.session_id, responses.keys()
        ):
            code = response.error_code
            log.info("%s: the fetch session ends: error %d", self.broker, code)
            if not self._settings.sessions or code not in _SESSION_ERRORS:
                self.failure = BrokerError(code, "Fetch", error_name(code))
                self._pause()
            return True
        self.on_response()
        sets: list[tuple[PartitionRequest, FetchedPartition]] = []
        others: list[Arrived] = []
        for tp, part in responses.items():
            requested = step.requests.get(tp)
            if requested is None:
                continue
            if part.error_code == ErrorCode.NONE and len(part.records):
                sets.append((requested, part))
            else:
                others.append((requested, part, NOTHING))
        absent = left_out(step.requests, responses, response.throttle_time_ms)
        self._take_without_sets(
            others, [step.requests[tp] for tp in absent] if step.is_full else []
        )
        if not response.throttle_time_ms:
            self._send_early(step, sets)
        self._unpack_all(sets, len(responses), duration_ms)
        return any(len(part.records) or part.error_code for part in responses.values())

    def on_response(self) -> None:
        """Record that the broker responded: former failures are over."""
        self._failures = 0
        self.failure = None
        self._shared.repeats.works(self._about)

    def take_handed_back(
        self,
        sets: Sequence[tuple[PartitionRequest, FetchedPartition]],
        errors: Iterable[tuple[PartitionRequest, FetchedPartition]],
        absent: Sequence[PartitionRequest],
    ) -> None:
        """Act on parts of responses that a native loop handed back; it has counted their bytes.

        Args:
            sets: parts with a set to unpack.
            errors: parts with an error.
            absent: requests whose partitions a response omitted.
        """
        self._take_without_sets([(*part, NOTHING) for part in errors], absent)
        self._unpack_each(sets, counts_bytes=False)

    def _take_without_sets(
        self, arrived: Sequence[Arrived], absent: Sequence[PartitionRequest]
    ) -> None:
        """Apply parts without records, and partitions that the response omits, in one change."""

        def take(states: PartitionStates, now_ms: int) -> None:
            states.arrived(arrived, now_ms)
            states.left_out(absent, now_ms)

        if arrived or absent:
            self._shared.change(take)

    def _send_early(
        self, step: SessionStep, sets: Sequence[tuple[PartitionRequest, FetchedPartition]]
    ) -> None:
        """Send the next request, if the headers hold its offsets."""
        connection = self.exchange.connection
        if not sets or connection is None or not connection.is_idle:
            return
        may_wait = not self._settings.is_unpacked_on_demand
        arriving = [_arriving(requested, part, may_wait=may_wait) for requested, part in sets]
        if not self.may_send_early(connection, sum(arrival.memory_bytes for arrival in arriving)):
            return
        here = {arrival.requested.topic_partition for arrival in arriving}
        # The response has no records of these.
        self._give_back(request for tp, request in step.requests.items() if tp not in here)
        plan = self._plan(arriving)
        if plan.wanted:
            self._early = self._begin(connection, plan)

    def _unpack_all(
        self,
        sets: Sequence[tuple[PartitionRequest, FetchedPartition]],
        partitions: int,
        duration_ms: int,
    ) -> None:
        size_bytes, records = self._unpack_each(sets)
        self._shared.fetched(ResponseCounts(partitions, size_bytes, records, duration_ms))

    def _unpack_each(
        self,
        sets: Iterable[tuple[PartitionRequest, FetchedPartition]],
        *,
        counts_bytes: bool = True,
    ) -> tuple[int, int]:
        """Unpack sets; return the size of those that count, and their number of records."""
        settings = self._settings
        enough_bytes = settings.unpacked_bytes or 2 * settings.max_bytes
        # Of each partition, whatever the others took.
        least_bytes = settings.unpacked_bytes or settings.max_partition_bytes
        size_bytes = records = 0
        for requested, part in sets:
            if not self._counts(requested):
                continue
            unpacked = unpack(requested, part, settings, max(enough_bytes, least_bytes))
            enough_bytes -= 0 if unpacked.chunk is None else unpacked.chunk.memory_bytes
            size_bytes += unpacked.wire_bytes
            records += unpacked.count
            fetched_bytes = unpacked.wire_bytes if counts_bytes else 0
            self._shared.count(
                Counters(fetched_bytes=fetched_bytes, fetched_records=unpacked.count)
            )
            self._transfer(requested, part, unpacked)
        return size_bytes, records

    def _counts(self, requested: PartitionRequest) -> bool:
        return self._shared.read(lambda states: states.counts(requested))

    def _transfer(
        self, requested: PartitionRequest, part: FetchedPartition, unpacked: Unpacked
    ) -> None:
        arrived = requested, part, unpacked
        self._shared.change(lambda states, now_ms: states.arrived((arrived,), now_ms))

    def _lost(self, error: ZkConsumerError, *, was_connected: bool) -> None:
        """Reconnect, at once after the first failure: brokers close idle connections."""
        self.failure = error
        self.close()
        if self._stopping:
            return
        is_first = was_connected and not self._failures
        self._notify(error, is_first=is_first)
        self._shared.change(lambda states, _: states.broker_lost(self.broker))
        if is_first:
            self._failures = 1
        else:
            self._pause()

    def _notify(self, error: ZkConsumerError, *, is_first: bool) -> None:
        """Log an outage once, not with every retry; the end of an idle connection is no outage."""
        text = f"{self._about}: {error}"
        if is_first:
            log.info("%s", text)
        elif self._shared.warns:
            self._shared.repeats.happened(self._about, text)

    def _refused(self, error: ZkConsumerError) -> None:
        """Report a refusal to the caller, and retry only after that."""
        self.failure = error
        self.close()
        if self._stopping:
            return
        if self._shared.warns:
            self._shared.repeats.happened(f"{self.broker} refuses us", f"{self.broker}: {error}")
        self._refusal = without_frames(error)
        self._shared.change(lambda states, _: states.broker_refuses(self.broker, error))
        self.exchange.pause_until(self._clock.now_ms() + self._settings.retry_backoff_max_ms)

    def _is_unheard(self, states: PartitionStates) -> bool:
        return states.failures.get(self.broker) is self._refusal

    def _pause(self) -> None:
        """Pause after a failure, longer with each in a row."""
        settings = self._settings
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0)
        self.exchange.pause_until(self._clock.now_ms() + backoff.delay_ms(self._failures, 0))
        self._failures += 1

    def _pause_for_quota(self, response: FetchResponse) -> None:
        throttle_ms = response.throttle_time_ms
        if throttle_ms > 0:
            self._shared.count(Counters(throttle_time_ms=throttle_ms))
            self.exchange.apply_throttle_time(response)


def begin_fetch(
    states: PartitionStates,
    broker: Broker,
    now_ms: int,
    *,
    has_hard_bounds: bool = False,
    arriving: Collection[Arriving] = (),
) -> FetchPlan:
    """Plan the next request as ``plan_fetch`` does; its partitions count as requested from now."""
    states.expire_replicas(broker, now_ms)
    for response in arriving:
        next_offset = None if response.ahead is None else response.ahead.next_offset
        states.learn(response.requested, next_offset, response.size_bytes)
    plan = plan_fetch(states, broker, now_ms, has_hard_bounds=has_hard_bounds, arriving=arriving)
    states.begin(plan.wanted.values())
    return plan


def _arriving(requested: PartitionRequest, part: FetchedPartition, *, may_wait: bool) -> Arriving:
    """Describe a partition's set before it is unpacked.

    Args:
        requested: its request.
        part: its part of the response.
        may_wait: whether the next request may wait at the broker for data; if not, the log must
            have more than this set.
    """
    ahead = look_ahead(part.records, requested.start.offset)
    last_offset = part.high_watermark if may_wait else part.high_watermark - 1
    if ahead is not None and ahead.next_offset > last_offset:
        ahead = None  # reading may stop at the high watermark, see ``offset_order``
    return Arriving(requested, len(part.records), ahead)
