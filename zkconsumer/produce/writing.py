"""One call of ``BatchProducer.write``: sends sets, receives responses, handles failures.

Thread: one at a time.
"""

import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from zkconsumer.clock import Clock
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    LocalProtocolError,
    UnsupportedCodec,
    WriteFailed,
    ZkConsumerError,
    without_frames,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.in_flight import InFlight
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.produce.exchange import (
    ExchangeOutcome,
    concerns_records,
    is_retriable,
    outcomes_of,
    produce_request,
)
from zkconsumer.produce.identity import ProducerIdentity, is_lost, is_refused
from zkconsumer.produce.outgoing import NO_SEQUENCE, Outgoing, least_version
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import Pending, PendingSet, WrittenSet
from zkconsumer.produce.routes import Routes
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.init_producer_id import InitProducerIdRequest
from zkconsumer.wire.messages.produce import FIRST_WITH_BATCHES, ProduceRequest, ProduceResponse

log = logging.getLogger(__name__)

_MOST_REQUESTS: Final = 5
"""The maximum number of requests in flight to a broker, which tracks as many batches (KIP-98)."""

_TRIES_BEFORE_WARNING: Final = 5
"""The number of tries after which an outage is logged."""

_FIRST_WITH_ACCOUNTS: Final = 5
"""The first version of Produce (of 1.0) whose brokers track the last five batches of an idempotent
producer; 0.11 tracks only the last one."""

_ENOUGH_BYTES: Final = 1 << 19
"""A request of this size is sent: the broker works on it while the next one is built."""


class RecordSource(Protocol):
    """A source of further records for a write, which is notified of the results."""

    def more(self) -> Mapping[TopicPartition, Sequence[Outgoing]]:
        """Return further records to write after the earlier ones of their partitions."""

    def written(self, written_set: WrittenSet) -> None:
        """Handle an acknowledged set; called for each partition in the order of its records."""

    def failed(self, tp: TopicPartition, count: int, error: ZkConsumerError) -> None:
        """Handle the failure of the next ``count`` records of a partition."""

    def may_retry(self, tp: TopicPartition) -> bool:
        """Return whether the partition's next set may be tried again after a failure."""


@dataclass(frozen=True, slots=True, eq=False)
class _UnderWay:
    """A request in flight, and its sets."""

    leader: Broker
    connection: NegotiatedConnection
    in_flight: InFlight[ProduceResponse]
    sets: Mapping[TopicPartition, PendingSet]


class Writing:
    """The state of one write; see the module.

    Args:
        records: by partition.
        settings: the settings of the producer.
        routes: the connections to brokers.
        identity: the id and sequences of an idempotent producer.
        wait: sleeps for a number of milliseconds.
        is_stopped: returns whether retries are to end.
        source: a source of further records; None: there are none.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        records: Mapping[TopicPartition, Sequence[Outgoing] | OutgoingRecords],
        settings: BatchSettings,
        routes: Routes,
        identity: ProducerIdentity,
        *,
        wait: Callable[[int], object],
        clock: Clock,
        is_stopped: Callable[[], bool],
        source: RecordSource | None = None,
    ) -> None:
        self._pending = Pending(records, set_bytes=settings.set_bytes)
        self._settings = settings
        self._routes = routes
        self._identity = identity
        self._wait = wait
        self._clock = clock
        self._is_stopped = is_stopped
        self._source = source
        self._least = least_version(settings.codec)
        self._under_way: deque[_UnderWay] = deque()
        self._tries: Counter[TopicPartition] = Counter()
        self._failed: dict[TopicPartition, ZkConsumerError] = {}
        self._resting: set[TopicPartition] = set()
        self._rest_until_ms = 0

    def run(self) -> tuple[WrittenSet, ...]:
        """See ``BatchProducer.write`` and ``write_from``."""
        while self._exchange_with_source():
            self._send()
            if self._under_way:
                self._take(self._under_way.popleft())
            elif self._will_retry():
                self._wait(self._settings.backoff_ms)
                self._resting.clear()
            elif self._is_ending:
                for tp in self._pending.partitions():
                    self._identity.restart(tp)
                raise _write_failed(self._pending, self._failed)
        return tuple(self._pending.written)

    @property
    def _is_ending(self) -> bool:
        """Whether a failure ends the write."""
        return bool(self._failed) and self._source is None

    def _will_retry(self) -> bool:
        """Return whether a set is to be sent again after a pause.

        Before a failure ends the write, sets that may be in the log are sent again until that is
        known: if they were written later with other numbers, the log would have them twice.
        """
        return any(
            not self._is_ending or self._pending.may_be_written(tp)
            for tp in self._resting - self._failed.keys()
        )

    def _exchange_with_source(self) -> bool:
        """Report results to the source, and take more of it; return whether sets are pending."""
        if self._source is not None:
            self._report_written(self._source)
            self._report_failed(self._source)
            # Records that a broker accepted after a refused one count as written now.
            self._report_written(self._source)
            self._pending.add(self._source.more())
        return bool(self._pending)

    def _report_written(self, source: RecordSource) -> None:
        for written_set in self._pending.written:
            source.written(written_set)
        self._pending.written.clear()

    def _report_failed(self, source: RecordSource) -> None:
        """Drop the failed sets, and notify the source; other partitions continue."""
        for tp in [tp for tp in self._failed if not self._pending.is_under_way(tp)]:
            error = self._failed.pop(tp)
            self._renumber(tp)
            # A refused set is halved until a single record is left, which is the cause.
            is_alone = concerns_records(error)
            count = self._pending.drop_next(tp) if is_alone else self._pending.drop(tp)
            self._tries.pop(tp, None)
            self._resting.discard(tp)
            source.failed(tp, count, error)

    # --- sending ----------------------------------------------------------------------------

    def _send(self) -> None:
        """Send all sets that may be sent now."""
        if self._resting and self._under_way and self._clock.now_ms() >= self._rest_until_ms:
            self._resting.clear()
        while True:
            wanted = [tp for tp in self._pending.partitions() if self._next_set(tp, _MOST_REQUESTS)]
            by_leader = self._by_leader(wanted)
            sent = [self._send_to(leader, tps) for leader, tps in by_leader.items()]
            if not any(sent):
                return

    def _next_set(self, tp: TopicPartition, depth: int) -> PendingSet | None:
        """Return the next set to send to a partition, see ``Pending``; None if none may be sent."""
        if tp in self._resting or tp in self._failed:
            return None
        found = self._pending.next_set(tp, depth)
        is_new = found is not None and found.sequence is NO_SEQUENCE
        return None if is_new and self._is_ending else found

    def _by_leader(
        self, wanted: Sequence[TopicPartition]
    ) -> Mapping[Broker, Sequence[TopicPartition]]:
        by_leader: dict[Broker, list[TopicPartition]] = defaultdict(list)
        if not wanted:
            return by_leader
        try:
            leaders = self._routes.leaders_of(wanted)
        except ZkConsumerError as error:
            self._fail_next(wanted, error)
            return by_leader
        for tp in wanted:
            leader = leaders[tp]
            if isinstance(leader, BrokerError):
                self._fail_next([tp], leader)
            else:
                by_leader[leader].append(tp)
        return by_leader

    def _send_to(self, leader: Broker, wanted: Sequence[TopicPartition]) -> bool:
        """Send as many requests to a broker as may be in flight; return whether any was sent."""
        under_way = sum(exchange.leader == leader for exchange in self._under_way)
        if under_way >= _MOST_REQUESTS:
            return False
        beginning: Sequence[TopicPartition] = ()
        try:
            connection = self._routes.connection_to(leader)
            if under_way and connection.is_renewal_due:
                return False
            version = connection.version_of(ProduceRequest, at_least=self._least)
            is_numbered = self._gets_numbers(connection, version)
            is_known_to = self._identity.is_known_to
            beginning = [tp for tp in wanted if is_numbered and not is_known_to(tp)]
            if beginning:
                if under_way:
                    return False
                is_numbered = self._request_id(connection)
        except ZkConsumerError as error:
            self._broken(leader, error)
            # Partitions with a sequence need no new id.
            self._fail_next(beginning or wanted, error)
            return True
        depth = _MOST_REQUESTS if is_numbered and version >= _FIRST_WITH_ACCOUNTS else 1
        left, sent = list(wanted), False
        while left and under_way < _MOST_REQUESTS:
            if under_way and connection.is_renewal_due:
                return sent
            chosen, left = self._choose(left, depth, version, is_numbered=is_numbered)
            if not chosen:
                return sent
            sent = True
            if not self._begin(leader, connection, chosen):
                return True
            under_way += 1
        return sent

    def _choose(
        self, wanted: Sequence[TopicPartition], depth: int, version: int, *, is_numbered: bool
    ) -> tuple[dict[TopicPartition, tuple[PendingSet, bytes]], list[TopicPartition]]:
        """Return the sets of the next request, and the partitions for later requests."""
        chosen: dict[TopicPartition, tuple[PendingSet, bytes]] = {}
        size = 0
        for index, tp in enumerate(wanted):
            pending_set = self._next_set(tp, depth)
            if pending_set is None:
                continue
            try:
                data = self._build(tp, pending_set, version, is_numbered=is_numbered)
            except (LocalProtocolError, UnsupportedCodec) as error:
                self._settle(tp, pending_set, error)
                continue
            if chosen and size + len(data) > self._settings.request_bytes:
                return chosen, list(wanted[index:])
            size += len(data)
            chosen[tp] = pending_set, data
            if size >= _ENOUGH_BYTES:
                return chosen, list(wanted[index + 1 :])
        return chosen, []

    def _build(
        self, tp: TopicPartition, pending_set: PendingSet, version: int, *, is_numbered: bool
    ) -> bytes:
        if is_numbered and pending_set.sequence is NO_SEQUENCE:
            pending_set.sequence = self._identity.number(tp, len(pending_set.records))
        return pending_set.records.build(
            version=version,
            codec=self._settings.codec,
            now_ms=self._clock.wall_ms(),
            sequence=pending_set.sequence,
        )

    def _begin(
        self,
        leader: Broker,
        connection: NegotiatedConnection,
        chosen: Mapping[TopicPartition, tuple[PendingSet, bytes]],
    ) -> bool:
        settings = self._settings
        data = {tp: built for tp, (_, built) in chosen.items()}
        request = produce_request(data, acks=settings.acks, timeout_ms=settings.timeout_ms)
        sets = {tp: pending_set for tp, (pending_set, _) in chosen.items()}
        for pending_set in sets.values():
            pending_set.is_under_way = True
        # The broker reads this request after responding to the previous ones.
        in_front = sum(exchange.leader == leader for exchange in self._under_way)
        try:
            in_flight = connection.begin(
                request,
                timeout_ms=2 * settings.timeout_ms * (in_front + 1),
                at_least=self._least,
                most_in_flight=_MOST_REQUESTS,
            )
        except ZkConsumerError as error:
            self._broken(leader, error)
            self._fail_all(sets, error)
            return False
        self._under_way.append(_UnderWay(leader, connection, in_flight, sets))
        return True

    # --- responses --------------------------------------------------------------------------

    def _take(self, exchange: _UnderWay) -> None:
        """Wait for a response, and handle it."""
        try:
            response = exchange.connection.finish(
                exchange.in_flight, timeout_ms=2 * self._settings.timeout_ms
            )
        except ZkConsumerError as error:
            self._fail_all(exchange.sets, error)
            self._broken(exchange.leader, error)
            return
        for tp, outcome in outcomes_of(exchange.leader, exchange.sets, response).items():
            self._settle(tp, exchange.sets[tp], outcome)

    def _broken(self, leader: Broker, error: ZkConsumerError) -> None:
        """Handle a broken connection to a broker: its requests in flight get no response."""
        self._routes.hang_up(leader)
        lost = [exchange for exchange in self._under_way if exchange.leader == leader]
        for exchange in lost:
            self._under_way.remove(exchange)
            self._fail_all(exchange.sets, error)

    def _fail_next(self, wanted: Iterable[TopicPartition], error: ZkConsumerError) -> None:
        for tp in wanted:
            pending_set = self._pending.next_set(tp, _MOST_REQUESTS)
            if pending_set is not None:
                self._settle(tp, pending_set, without_frames(error))

    def _fail_all(self, sets: Mapping[TopicPartition, PendingSet], error: ZkConsumerError) -> None:
        for tp, pending_set in sets.items():
            self._settle(tp, pending_set, without_frames(error))

    def _settle(
        self, tp: TopicPartition, pending_set: PendingSet, outcome: ExchangeOutcome
    ) -> None:
        """Record the outcome of a set."""
        if isinstance(outcome, int):
            self._pending.acknowledge(tp, pending_set, outcome)
            self._tries.pop(tp, None)
            return
        if not self._pending.fail(tp, pending_set):
            self._resting.add(tp)  # earlier sets of the partition go first
            return
        has_identity = pending_set.sequence.producer_id >= 0
        if has_identity and is_refused(outcome):
            log.info("%s; writing to it without a producer id (not idempotent)", outcome)
            self._identity.is_wanted = False
            self._renumber(tp)
        elif has_identity and is_lost(outcome) and self._has_tries(tp):
            log.info("%s; continuing with a new producer id", outcome)
            if self._tries[tp]:
                self._rest(tp)
            self._tries[tp] += 1
            self._renumber(tp)
        elif concerns_records(outcome) and self._pending.halve(tp):
            return
        elif is_retriable(outcome) and self._has_tries(tp):
            self._tries[tp] += 1
            if self._tries[tp] == _TRIES_BEFORE_WARNING:
                log.warning("%s: %s; still retrying", tp, outcome)
            self._rest(tp)
            self._routes.forget(tp)
        else:
            self._failed[tp] = outcome

    def _rest(self, tp: TopicPartition) -> None:
        self._resting.add(tp)
        self._rest_until_ms = self._clock.now_ms() + self._settings.backoff_ms

    def _has_tries(self, tp: TopicPartition) -> bool:
        if self._is_stopped():
            return False
        if self._source is not None and not self._source.may_retry(tp):
            return False
        return self._tries[tp] < self._settings.retries

    # --- identity ---------------------------------------------------------------------------

    def _gets_numbers(self, connection: NegotiatedConnection, version: int) -> bool:
        """Return whether sets for this broker are to be numbered."""
        return (
            self._identity.is_wanted
            and version >= FIRST_WITH_BATCHES
            and connection.versions.has(ApiKey.INIT_PRODUCER_ID)
        )

    def _request_id(self, connection: NegotiatedConnection) -> bool:
        """Request a producer id from a broker with nothing in flight; return False if it refuses.

        Raises:
            ZkConsumerError: the broker does not respond, or is not ready.
        """
        response = connection.call(InitProducerIdRequest(), timeout_ms=self._settings.timeout_ms)
        code = response.error_code
        if code != ErrorCode.NONE:
            text = f"{connection.broker} did not assign a producer id: {error_name(code)}"
            if ErrorCode.of(code).retriable:
                raise BrokerError(code, "InitProducerId", text)
            log.info("%s; writing without one", text)
            self._identity.is_wanted = False
            return False
        self._identity.give(response.producer_id, response.producer_epoch)
        return True

    def _renumber(self, tp: TopicPartition) -> None:
        """Renumber the unwritten sets of a partition, once none of them is in flight."""
        self._identity.restart(tp)
        self._pending.renumber(tp)


def _write_failed(
    pending: Pending, failed: Mapping[TopicPartition, ZkConsumerError]
) -> WriteFailed:
    written: dict[TopicPartition, list[tuple[int, int]]] = defaultdict(list)
    for written_set in pending.written:
        written[written_set.topic_partition].append((written_set.base_offset, written_set.count))
    error = WriteFailed(
        {tp: str(reason) for tp, reason in failed.items()},
        unwritten=pending.counts(),
        written_count=sum(written_set.count for written_set in pending.written),
        written=written,
        may_pass=all(
            is_retriable(error) and not concerns_records(error) for error in failed.values()
        ),
        refused=frozenset(tp for tp, reason in failed.items() if concerns_records(reason)),
    )
    error.__cause__ = next(iter(failed.values()))
    return error
