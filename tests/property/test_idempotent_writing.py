"""Writing with several sets in flight, lost responses and forgotten ids: once each, in order."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.clock import SystemClock
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectionLost, WriteFailed, ZkConsumerError
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.produce.identity import ProducerIdentity
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.produce.writing import Writing
from zkconsumer.records.batch_header import BATCH_HEADER
from zkconsumer.records.decode import decode_record_set
from zkconsumer.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from zkconsumer.wire.messages.produce import (
    ProducedPartition,
    ProducedTopic,
    ProduceRequest,
    ProduceResponse,
)

BROKERS = (Broker(0, "a", 1), Broker(1, "b", 1))
TPS = tuple(TopicPartition("t", number) for number in range(3))
_KEPT = 5
_LAST = (1 << 31) - 1

faults = st.lists(
    st.sampled_from(["", "", "", "", "cut", "lost", "later", "too large", "forgets", "due"]),
    max_size=40,
)
counted = st.lists(st.integers(0, 40), min_size=3, max_size=3)


@dataclass
class ProducerCluster:
    """Two brokers that keep producer state as those of 1.0 and later do."""

    faults: list[str]
    gives_ids: bool = True
    is_strict: bool = False
    """Whether an unknown producer must start with sequence 0, as at brokers before 2.5."""
    logs: dict[TopicPartition, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    kept: dict[tuple[TopicPartition, int], deque[tuple[int, int, int]]] = field(
        default_factory=lambda: defaultdict(lambda: deque(maxlen=_KEPT))
    )
    ids: int = 0
    most_ids: int = 1 << 30
    connections: dict[Broker, "ProducerConnection"] = field(default_factory=dict)
    most_in_flight: int = 0

    # --- as Routes --------------------------------------------------------------------------

    def leaders_of(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, Broker]:
        """See ``Routes``."""
        return {tp: BROKERS[tp.partition % 2] for tp in wanted}

    def connection_to(self, leader: Broker) -> "ProducerConnection":
        """See ``Routes``."""
        return self.connections.setdefault(leader, ProducerConnection(self, leader))

    def hang_up(self, leader: Broker) -> None:
        """See ``Routes``."""
        self.connections.pop(leader, None)

    def forget(self, tp: TopicPartition) -> None:
        """See ``Routes``."""

    # --- as brokers -------------------------------------------------------------------------

    def append(self, tp: TopicPartition, data: bytes, fault: str) -> tuple[int, int]:
        """Append a set; return the error code and its base offset."""
        head = BATCH_HEADER.unpack_from(data)
        producer_id, first, count = head[9], head[11], head[12]
        rows = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20).records.plain
        log = self.logs[tp]
        kept = self.kept[tp, producer_id]
        for known, last, offset in kept if producer_id >= 0 else ():
            if (known, last) == (first, first + count):
                return ErrorCode.NONE, offset
        if fault == "too large" and count > 1:
            return ErrorCode.MESSAGE_TOO_LARGE, -1
        if fault == "later":
            return ErrorCode.NOT_LEADER_FOR_PARTITION, -1
        if producer_id >= 0:
            if kept and first != kept[-1][1]:
                return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            if not kept and first and self.is_strict:
                return ErrorCode.UNKNOWN_PRODUCER_ID, -1
            kept.append((first, first + count, len(log)))
        log.extend(row[2] or b"" for row in rows)
        return ErrorCode.NONE, len(log) - len(rows)


@dataclass
class ProducerConnection:
    """A connection to one of them; requests take effect at once, responses come in order."""

    cluster: ProducerCluster
    broker: Broker
    responses: deque[ProduceResponse | None] = field(default_factory=deque)
    is_cut: bool = False
    is_renewal_due: bool = False

    @property
    def versions(self) -> "ProducerConnection":
        """See ``NegotiatedConnection``."""
        return self

    def has(self, _api: object) -> bool:
        """See ``BrokerVersions``."""
        return True

    def version_of(self, _request: object, *, at_least: int) -> int:
        """See ``NegotiatedConnection``."""
        return max(9, at_least)

    def call(self, _request: InitProducerIdRequest, **_: object) -> InitProducerIdResponse:
        """See ``NegotiatedConnection``."""
        assert not self.responses, "a request between responses"
        code = ErrorCode.NONE if self.cluster.gives_ids else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        self.cluster.ids += 1
        if self.cluster.ids > self.cluster.most_ids:
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return InitProducerIdResponse(
            error_code=code, producer_id=self.cluster.ids, producer_epoch=0
        )

    def begin(self, request: ProduceRequest, **_: object) -> object:
        """See ``NegotiatedConnection``."""
        assert not (self.is_renewal_due and self.responses), "an authentication between responses"
        fault = self.cluster.faults.pop(0) if self.cluster.faults else ""
        self.is_renewal_due = fault == "due"
        if self.is_cut or fault == "cut":
            self.is_cut = True
            self.responses.append(None)
        else:
            if fault == "forgets":
                self.cluster.kept.clear()
            response = self._respond(request, fault)
            self.is_cut = fault == "lost"
            self.responses.append(None if self.is_cut else response)
        self.cluster.most_in_flight = max(self.cluster.most_in_flight, len(self.responses))
        return len(self.responses)

    def _respond(self, request: ProduceRequest, fault: str) -> ProduceResponse:
        topics = []
        for topic in request.topics:
            partitions = []
            for partition in topic.partitions:
                tp = TopicPartition(topic.topic, partition.partition)
                code, offset = self.cluster.append(tp, bytes(partition.records or b""), fault)
                partitions.append(
                    ProducedPartition(
                        partition=partition.partition, error_code=code, base_offset=offset
                    )
                )
            topics.append(ProducedTopic(topic=topic.topic, partitions=tuple(partitions)))
        return ProduceResponse(topics=tuple(topics))

    def finish(self, _in_flight: object, **_: object) -> ProduceResponse:
        """See ``NegotiatedConnection``."""
        response = self.responses.popleft()
        if response is None:
            raise ConnectionLost("cut")
        return response


def write(
    cluster: ProducerCluster, counts: list[int], *, idempotent: bool, retries: int, set_bytes: int
) -> tuple[dict[TopicPartition, list[bytes]], dict[TopicPartition, list[tuple[int, int]]], bool]:
    """Write records; return them, what was reported as written, and whether all were."""
    wanted = {
        tp: [b"%d %d" % (tp.partition, number) for number in range(count)]
        for tp, count in zip(TPS, counts, strict=True)
    }
    writing = Writing(
        {tp: [Record(0, None, value) for value in values] for tp, values in wanted.items()},
        BatchSettings(retries=retries, backoff_ms=0, set_bytes=set_bytes),
        cast("Any", cluster),
        ProducerIdentity(is_wanted=idempotent),
        wait=lambda _ms: None,
        clock=SystemClock(),
        is_stopped=lambda: False,
    )
    found: dict[TopicPartition, list[tuple[int, int]]] = {tp: [] for tp in TPS}
    try:
        for set_ in writing.run():
            found[set_.topic_partition].append((set_.base_offset, set_.count))
    except WriteFailed as error:
        for tp, sets in error.written.items():
            found[tp] += list(sets)
        return wanted, found, False
    return wanted, found, True


class Trickle:
    """A source that yields a few records of each partition at a time."""

    def __init__(self, wanted: dict[TopicPartition, list[bytes]], step: int) -> None:
        self.found: dict[TopicPartition, list[tuple[int, int]]] = {tp: [] for tp in TPS}
        self.lost: Counter[TopicPartition] = Counter()
        self._left = {tp: deque(values) for tp, values in wanted.items()}
        self._step = step

    def more(self) -> dict[TopicPartition, list[Record]]:
        """See ``RecordSource``."""
        return {
            tp: [Record(0, None, left.popleft()) for _ in range(min(self._step, len(left)))]
            for tp, left in self._left.items()
        }

    def written(self, written_set: WrittenSet) -> None:
        """See ``RecordSource``."""
        self.found[written_set.topic_partition].append((written_set.base_offset, written_set.count))

    def failed(self, tp: TopicPartition, count: int, _error: ZkConsumerError) -> None:
        """See ``RecordSource``."""
        self.lost[tp] += count

    def may_retry(self, _tp: TopicPartition) -> bool:
        """See ``RecordSource``."""
        return True


@given(faults, counted, st.integers(1, 20), st.sampled_from([60, 900_000]))
def test_records_that_come_meanwhile_are_written_once_and_in_order(
    script: list[str], counts: list[int], step: int, set_bytes: int
) -> None:
    """They are added after those in flight, and all are reported in order."""
    cluster = ProducerCluster([fault for fault in script if fault != "forgets"])
    wanted = {
        tp: [b"%d %d" % (tp.partition, number) for number in range(count)]
        for tp, count in zip(TPS, counts, strict=True)
    }
    source = Trickle(wanted, step)
    writing = made_writing(cluster, ProducerIdentity(is_wanted=True), set_bytes, source)
    assert writing.run() == ()
    assert {tp: cluster.logs[tp] for tp in TPS} == wanted
    check_reported(cluster, wanted, source.found)
    assert {tp: sum(n for _, n in source.found[tp]) for tp in TPS} == {
        tp: len(values) for tp, values in wanted.items()
    }


def check_reported(
    cluster: ProducerCluster,
    wanted: dict[TopicPartition, list[bytes]],
    found: dict[TopicPartition, list[tuple[int, int]]],
) -> None:
    """Check that reported records are in the log at their offsets, in order."""
    for tp, sets in found.items():
        place = 0
        for base, count in sets:
            assert cluster.logs[tp][base : base + count] == wanted[tp][place : place + count]
            place += count


@given(faults, counted, st.sampled_from([60, 200, 900_000]), st.integers(0, 100))
def test_no_record_is_lost_and_all_are_reported(
    script: list[str], counts: list[int], set_bytes: int, retries: int
) -> None:
    """With any faults; no record before a failed one is missing."""
    cluster = ProducerCluster(list(script))
    wanted, found, whole = write(
        cluster, counts, idempotent=True, retries=retries, set_bytes=set_bytes
    )
    check_reported(cluster, wanted, found)
    if whole:
        assert {tp: sum(n for _, n in found[tp]) for tp in TPS} == {
            tp: len(values) for tp, values in wanted.items()
        }
    assert whole or retries <= len(script)
    assert cluster.most_in_flight <= _KEPT


@given(faults, counted, st.sampled_from([60, 200, 900_000]), st.booleans())
def test_an_idempotent_producer_writes_once_and_in_order(
    script: list[str], counts: list[int], set_bytes: int, is_strict: bool
) -> None:
    """It does as long as brokers keep its state, with any connections lost and sets split."""
    cluster = ProducerCluster([text for text in script if text != "forgets"], is_strict=is_strict)
    wanted, _, whole = write(cluster, counts, idempotent=True, retries=99, set_bytes=set_bytes)
    assert whole
    assert {tp: cluster.logs[tp] for tp in TPS} == wanted


REFUSED = frozenset({b"0 3", b"0 4", b"0 17", b"1 0"})


class RefusingCluster(ProducerCluster):
    """A cluster that refuses some records for their content."""

    def append(self, tp: TopicPartition, data: bytes, fault: str) -> tuple[int, int]:
        """See ``Cluster``."""
        rows = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20).records.plain
        if any(row[2] in REFUSED for row in rows):
            return ErrorCode.INVALID_RECORD, -1
        return super().append(tp, data, fault)


@given(faults, counted, st.integers(1, 20), st.sampled_from([60, 900_000]))
def test_a_refused_record_leaves_no_copies_of_others(
    script: list[str], counts: list[int], step: int, set_bytes: int
) -> None:
    """Nor are records repeated whose response was lost just before, in any partition."""
    cluster = RefusingCluster([fault for fault in script if fault != "forgets"])
    wanted = {
        tp: [b"%d %d" % (tp.partition, number) for number in range(count)]
        for tp, count in zip(TPS, counts, strict=True)
    }
    source = Trickle(wanted, step)
    made_writing(cluster, ProducerIdentity(is_wanted=True), set_bytes, source).run()
    for tp, values in wanted.items():
        assert cluster.logs[tp] == [value for value in values if value not in REFUSED]
        assert source.lost[tp] == len(values) - len(cluster.logs[tp])


class ForgettingCluster(RefusingCluster):
    """A cluster that forgets its producers before each set, and then accepts any sequence."""

    def append(self, tp: TopicPartition, data: bytes, fault: str) -> tuple[int, int]:
        """See ``Cluster``."""
        self.kept.clear()
        return super().append(tp, data, fault)


def test_records_accepted_after_a_refused_one_are_reported() -> None:
    """They are even if nothing is left to send: otherwise a caller would wait for ever."""
    source = Trickle({TPS[0]: [b"0 %d" % number for number in range(22)]}, 40)
    made_writing(ForgettingCluster([]), ProducerIdentity(is_wanted=True), 60, source).run()
    assert sum(count for _, count in source.found[TPS[0]]) + source.lost[TPS[0]] == 22


def test_partitions_with_an_id_do_not_wait_for_one_that_another_needs() -> None:
    """Brokers give no second id, which only the partition with the refused record needs."""
    cluster = RefusingCluster([], most_ids=1)
    wanted = {tp: [b"%d %d" % (tp.partition, number) for number in range(200)] for tp in TPS}
    source = Trickle({**wanted, TPS[1]: []}, 5)
    made_writing(cluster, ProducerIdentity(is_wanted=True), 60, source, retries=3).run()
    assert cluster.logs[TPS[0]] == wanted[TPS[0]][:3]
    assert cluster.logs[TPS[2]] == wanted[TPS[2]]
    assert source.lost == {TPS[0]: 197}


@given(faults, counted, st.sampled_from([60, 900_000]))
def test_dropping_refused_records_leaves_no_copies_of_others(
    script: list[str], counts: list[int], set_bytes: int
) -> None:
    """A mirror writes the rest again, with the same producer."""
    cluster = RefusingCluster([fault for fault in script if fault != "forgets"])
    left = {
        tp: [b"%d %d" % (tp.partition, number) for number in range(count)]
        for tp, count in zip(TPS, counts, strict=True)
    }
    wanted = {tp: [value for value in left[tp] if value not in REFUSED] for tp in TPS}
    identity = ProducerIdentity(is_wanted=True)
    while any(left.values()):
        rows = {tp: [Record(0, None, value) for value in values] for tp, values in left.items()}
        try:
            made_writing(cluster, identity, set_bytes, None, rows).run()
            break
        except WriteFailed as error:
            for tp in TPS:
                written = sum(count for _, count in error.written.get(tp, ()))
                del left[tp][: written + (tp in error.refused)]
            stuck = not (error.refused or error.written_count)
        assert not stuck
    assert {tp: cluster.logs[tp] for tp in TPS} == wanted


def made_writing(
    cluster: ProducerCluster,
    identity: ProducerIdentity,
    set_bytes: int,
    source: Trickle | None,
    records: dict[TopicPartition, list[Record]] | None = None,
    retries: int = 99,
) -> Writing:
    """Make a write with enough retries."""
    return Writing(
        records or {},
        BatchSettings(retries=retries, backoff_ms=0, set_bytes=set_bytes),
        cast("Any", cluster),
        identity,
        wait=lambda _ms: None,
        clock=SystemClock(),
        is_stopped=lambda: False,
        source=source,
    )


class SecondIdentity(ProducerCluster):
    """A cluster in which one partition needs a second id while its leader moves."""

    def append(self, tp: TopicPartition, data: bytes, fault: str) -> tuple[int, int]:
        """See ``Cluster``."""
        producer_id, first = BATCH_HEADER.unpack_from(data)[9], BATCH_HEADER.unpack_from(data)[11]
        if tp == TPS[0] and producer_id == 1 and first:
            return ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
        if tp == TPS[0] and producer_id == 2 and self.refusals:
            self.refusals -= 1
            return ErrorCode.NOT_LEADER_FOR_PARTITION, -1
        return super().append(tp, data, fault)

    refusals: int = 1


def test_a_new_id_begins_with_a_single_set_of_its_partition() -> None:
    """Brokers accept any sequence of an unknown id; other partitions keep their id."""
    cluster = SecondIdentity([])
    wanted, _, whole = write(cluster, [60, 0, 60], idempotent=True, retries=99, set_bytes=60)
    assert whole
    assert cluster.ids == 2
    assert not cluster.refusals
    assert {tp: cluster.logs[tp] for tp in TPS} == wanted
    assert {producer_id for tp, producer_id in cluster.kept if tp == TPS[2]} == {1}


@given(faults, counted, st.booleans())
def test_a_plain_producer_keeps_the_order(
    script: list[str], counts: list[int], refused: bool
) -> None:
    """So does one that brokers deny an id: there may be copies, but none out of order."""
    cluster = ProducerCluster(list(script), gives_ids=False)
    wanted, found, whole = write(cluster, counts, idempotent=refused, retries=99, set_bytes=60)
    assert whole
    check_reported(cluster, wanted, found)
    for tp in TPS:
        assert list(dict.fromkeys(cluster.logs[tp])) == wanted[tp]


class UnknownIdCluster(ProducerCluster):
    """A cluster that knows none of the ids that it has just given."""

    def append(self, tp: TopicPartition, data: bytes, fault: str) -> tuple[int, int]:
        """See ``Cluster``."""
        del tp, data, fault
        return ErrorCode.UNKNOWN_PRODUCER_ID, -1


class ExpiringTrickle(Trickle):
    """A source whose records are too old after some attempts."""

    tries: int = 3

    def may_retry(self, _tp: TopicPartition) -> bool:
        """See ``RecordSource``."""
        self.tries -= 1
        return self.tries >= 0


def test_new_ids_are_requested_as_long_as_records_may_be_retried() -> None:
    """The retries end even if no id is ever known, and have pauses in between."""
    waits: list[int] = []
    writing = Writing(
        {},
        BatchSettings(retries=1 << 30, backoff_ms=7),
        cast("Any", cluster := UnknownIdCluster([])),
        ProducerIdentity(is_wanted=True),
        wait=waits.append,
        clock=SystemClock(),
        is_stopped=lambda: cluster.ids > 20,
        source=(source := ExpiringTrickle({TPS[0]: [b"a"]}, 1)),
    )
    writing.run()
    assert source.lost == {TPS[0]: 1}
    assert cluster.ids == 4
    assert waits == [7, 7]


def test_several_sets_of_a_partition_are_in_flight() -> None:
    """They are of an idempotent producer; a plain one has a single set in flight."""
    for idempotent, most in ((True, _KEPT), (False, 1)):
        cluster = ProducerCluster([])
        records = [40, 0, 0]
        write(cluster, records, idempotent=idempotent, retries=0, set_bytes=60)
        assert cluster.most_in_flight == most
