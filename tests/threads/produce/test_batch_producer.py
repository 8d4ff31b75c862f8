"""The batch producer writes many partitions at a time, and accounts for every record."""

from dataclasses import replace

import pytest

from tests.fakes.fake_script import Close, DefaultReply, Fail, Hang, ScriptedReply, Step
from tests.support.fake_net import FakeNet, fake_net
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import LocalProtocolError, WriteFailed
from zkconsumer.model import Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer
from zkconsumer.produce.outgoing import HeadedRecord, Outgoing
from zkconsumer.produce.settings import BatchSettings
from zkconsumer.records.build_batch import build_batch
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.rows import Headers
from zkconsumer.scope import Mailbox, ThreadScope
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataResponse
from zkconsumer.wire.messages.produce import ProduceRequest, ProduceResponse

P0, P1, P2 = (TopicPartition("t", number) for number in range(3))
TIMEOUT_MS = 500
SETTINGS = BatchSettings(timeout_ms=TIMEOUT_MS, retries=2, backoff_ms=70, set_bytes=1_000)


@pytest.fixture
def net() -> FakeNet:
    """Two brokers; the first leads partitions 0 and 2, the second partition 1."""
    net = fake_net(2)
    net.cluster.create_topic("t", partitions=3, replicas=2)
    return net


@pytest.fixture
def waits() -> list[int]:
    """The pauses of the producer."""
    return []


def producer(net: FakeNet, waits: list[int], settings: BatchSettings = SETTINGS) -> BatchProducer:
    """A producer in memory."""
    return BatchProducer(
        net.brokers.addresses, connector=net.network, settings=settings, wait=waits.append
    )


def rows(*values: bytes) -> list[Record]:
    """Make records of these values."""
    return [Record(0, None, value) for value in values]


def log(net: FakeNet, tp: TopicPartition) -> list[bytes | None]:
    """Return the values in a partition."""
    data = net.cluster.log(tp).read(0, 1 << 24)
    decoded = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 24)
    return [record.value for record in decoded.records]


def produced(net: FakeNet, broker_id: int) -> list[ProduceRequest]:
    """Return the Produce requests that a broker got."""
    return [
        request.request
        for request in net.brokers[broker_id].requests
        if isinstance(request.request, ProduceRequest)
    ]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_each_broker_gets_one_request(net: FakeNet, waits: list[int], codec: Codec) -> None:
    """It has the record sets of all partitions that the broker leads."""
    sender = producer(net, waits, replace(SETTINGS, codec=codec))
    written = sender.write({P0: rows(b"a", b"b"), P1: rows(b"c"), P2: rows(b"d")})
    assert {(set_.topic_partition, set_.base_offset, set_.count) for set_ in written} == {
        (P0, 0, 2),
        (P1, 0, 1),
        (P2, 0, 1),
    }
    assert [log(net, tp) for tp in (P0, P1, P2)] == [[b"a", b"b"], [b"c"], [b"d"]]
    assert [len(produced(net, number)) for number in (0, 1)] == [1, 1]
    assert waits == []


def test_nothing_to_write_sends_no_request(net: FakeNet, waits: list[int]) -> None:
    """Partitions without records are left out."""
    assert producer(net, waits).write({P0: []}) == ()
    assert net.brokers[0].requests == []


def test_keys_and_nulls_are_kept(net: FakeNet, waits: list[int]) -> None:
    """Keys and values that are null or empty arrive as they were."""
    sent = [Record(0, b"k", None), Record(0, b"", b""), Record(0, None, b"v")]
    producer(net, waits).write({P0: sent})
    data = net.cluster.log(P0).read(0, 1 << 20)
    found = decode_record_set(data, fetch_offset=0, max_decompressed_bytes=1 << 20).records
    assert [(record.key, record.value) for record in found] == [
        (record.key, record.value) for record in sent
    ]


def test_the_size_of_sets_is_limited(net: FakeNet, waits: list[int]) -> None:
    """More records are sent in several sets, in order; only a single record may be larger."""
    values = [bytes([number]) * 300 for number in range(5)] + [b"L" * 5_000, b"end"]
    written = producer(net, waits).write({P0: rows(*values)})
    assert [set_.count for set_ in written] == [3, 2, 1, 1]
    assert [set_.base_offset for set_ in written] == [0, 3, 5, 6]
    assert log(net, P0) == values


@pytest.mark.parametrize(
    "step",
    [
        Close(),
        Hang(),
        Fail(ErrorCode.NOT_ENOUGH_REPLICAS),
        ScriptedReply(ProduceResponse(topics=())),
    ],
)
def test_retriable_failures_are_retried(net: FakeNet, waits: list[int], step: Step) -> None:
    """Each retry comes after a pause, and has only the sets that failed."""
    net.brokers[0].script(ApiKey.PRODUCE, step, step)
    producer(net, waits).write({P0: rows(b"a"), P1: rows(b"b")})
    assert waits == [70, 70]
    assert len(produced(net, 1)) == 1
    assert (log(net, P0), log(net, P1)) == ([b"a"], [b"b"])


def test_retries_are_counted_for_each_set(net: FakeNet, waits: list[int]) -> None:
    """After a set that was written, the next one has all its retries."""
    fail = Fail(ErrorCode.LEADER_NOT_AVAILABLE)
    net.brokers[0].script(ApiKey.PRODUCE, fail, fail)
    sender = producer(net, waits)
    sender.write({P0: rows(b"a")})
    net.brokers[0].script(ApiKey.PRODUCE, fail, fail)
    sender.write({P0: rows(b"b")})
    assert log(net, P0) == [b"a", b"b"]


def test_a_moved_leader_is_looked_up(net: FakeNet, waits: list[int]) -> None:
    """The set is sent to the new leader."""
    sender = producer(net, waits)
    sender.write({P0: rows(b"a")})
    net.cluster.move_leader(P0, 1)
    sender.write({P0: rows(b"b")})
    assert log(net, P0) == [b"a", b"b"]
    assert produced(net, 1)


def test_used_up_retries_say_what_was_not_written(net: FakeNet, waits: list[int]) -> None:
    """The error has the numbers of written and unwritten records, partition and reason."""
    net.cluster.move_leader(P0, None)
    with pytest.raises(WriteFailed, match="2 records not acknowledged, 1 were: t-0: ") as caught:
        producer(net, waits).write({P0: rows(b"a", b"b"), P1: rows(b"c")})
    assert caught.value.unwritten == {P0: 2}
    assert (caught.value.written, caught.value.may_pass) == ({P1: ((0, 1),)}, True)
    assert "has no leader: LEADER_NOT_AVAILABLE (5)" in caught.value.failed[P0]
    assert waits == [70, 70]
    assert log(net, P1) == [b"c"]


def test_without_brokers_every_partition_fails(net: FakeNet, waits: list[int]) -> None:
    """The error comes after all retries."""
    for broker in net.brokers:
        broker.stop()
    with pytest.raises(
        WriteFailed, match="no broker responded to the request for topics t: "
    ) as caught:
        producer(net, waits).write({P0: rows(b"a"), P1: rows(b"b")})
    assert caught.value.unwritten == {P0: 1, P1: 1}
    assert len(waits) == 2


def test_a_set_that_is_too_large_is_halved(net: FakeNet, waits: list[int]) -> None:
    """A broker that refuses a set for its size gets smaller ones, down to single records."""
    settings = replace(SETTINGS, codec=Codec.GZIP, set_bytes=1 << 23)
    noise = [
        bytes((seed * index * 7919 + index) >> 3 & 255 for index in range(400_000))
        for seed in range(1, 5)
    ]
    refusal = Fail(ErrorCode.RECORD_LIST_TOO_LARGE)
    net.brokers[0].script(ApiKey.PRODUCE, refusal)
    written = producer(net, waits, settings).write({P0: rows(*noise)})
    assert [set_.count for set_ in written] == [2, 2]
    assert log(net, P0) == noise
    assert waits == []


def test_a_record_that_is_too_large_fails_at_once(net: FakeNet, waits: list[int]) -> None:
    """Records before it are written, and it is not skipped."""
    records = rows(b"a", b"b", bytes(2_000_000), b"c")
    with pytest.raises(WriteFailed, match=r"MESSAGE_TOO_LARGE \(10\)") as caught:
        producer(net, waits, replace(SETTINGS, set_bytes=1 << 23)).write({P0: records})
    assert (caught.value.written_count, caught.value.unwritten) == (2, {P0: 2})
    assert sum(count for _, count in caught.value.written[P0]) == 2
    assert not caught.value.may_pass
    assert log(net, P0) == [b"a", b"b"]
    assert waits == []


def test_a_record_that_is_refused_for_its_content_is_found(net: FakeNet, waits: list[int]) -> None:
    """Halving finds that record: those before it are written, and the error counts the rest."""
    records = rows(b"a", b"b", b"late", b"c")
    refusal = Fail(ErrorCode.INVALID_TIMESTAMP)
    # All four records, then the last two, then the refused one.
    net.brokers[0].script(ApiKey.PRODUCE, refusal, DefaultReply(), refusal, refusal)
    with pytest.raises(WriteFailed, match=r"INVALID_TIMESTAMP") as caught:
        producer(net, waits).write({P0: records})
    assert (caught.value.refused, caught.value.unwritten) == (frozenset({P0}), {P0: 2})
    assert log(net, P0) == [b"a", b"b"]


def test_a_record_that_the_broker_s_format_can_not_hold_fails(
    net: FakeNet, waits: list[int]
) -> None:
    """One with headers does not keep those in front of it from being written."""
    plain = Record(0, None, b"a")
    records: list[Outgoing] = [plain, plain, plain, HeadedRecord(plain, (("h", b"1"),)), plain]
    with pytest.raises(WriteFailed, match="has headers") as caught:
        producer(net, waits).write({P0: records})
    assert (caught.value.refused, caught.value.unwritten) == (frozenset({P0}), {P0: 2})
    assert log(net, P0) == [b"a", b"a", b"a"]


def test_denied_access_is_not_blamed_on_a_record(net: FakeNet, waits: list[int]) -> None:
    """A smaller set would not help, and no record may be given up for it."""
    net.brokers[0].script(ApiKey.PRODUCE, Fail(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(WriteFailed) as caught:
        producer(net, waits).write({P0: rows(b"a", b"b")})
    assert (caught.value.refused, caught.value.may_pass) == (frozenset(), False)
    assert len(produced(net, 0)) == 1


def test_a_topic_name_that_is_too_long_is_unknown(net: FakeNet, waits: list[int]) -> None:
    """No request can hold such a name, so it is never sent."""
    with pytest.raises(WriteFailed, match="UNKNOWN_TOPIC_OR_PARTITION"):
        producer(net, waits).write({TopicPartition("t" * 40_000, 0): rows(b"a")})
    assert waits == [70, 70]


def test_a_lasting_corrupt_message_error_is_final(net: FakeNet, waits: list[int]) -> None:
    """Old brokers report a record without a key for a compacted topic so."""
    corrupt = Fail(ErrorCode.CORRUPT_MESSAGE)
    net.brokers[0].script(ApiKey.PRODUCE, corrupt)
    written = producer(net, waits).write({P0: rows(b"a", b"b")})
    assert [set_.count for set_ in written] == [1, 1]
    net.brokers[0].script(ApiKey.PRODUCE, *[corrupt] * 4)
    with pytest.raises(WriteFailed, match="has no key") as caught:
        producer(net, waits).write({P0: rows(b"c", b"d")})
    assert (caught.value.may_pass, *caught.value.refused) == (False, P0)
    assert waits == [70, 70]
    assert log(net, P0) == [b"a", b"b"]


def test_a_header_that_can_not_be_encoded_fails(net: FakeNet, waits: list[int]) -> None:
    """Its record stops the write, as any other that can't be written."""
    headers: Headers = (("\ud800", None),)
    with pytest.raises(LocalProtocolError, match="can't be encoded"):
        build_batch(rows(b"a"), headers={0: headers})
    records: list[Outgoing] = [*rows(b"a"), HeadedRecord(Record(0, None, b"b"), headers)]
    with pytest.raises(WriteFailed, match="header") as caught:
        producer(net, waits).write({P0: records})
    assert caught.value.unwritten == {P0: 1}
    assert log(net, P0) == [b"a"]


def test_the_size_of_requests_is_limited(net: FakeNet, waits: list[int]) -> None:
    """A broker that leads many partitions gets several requests, one after the other."""
    settings = replace(SETTINGS, request_bytes=1_000)
    values = [b"a" * 600, b"b" * 600]
    producer(net, waits, settings).write({P0: rows(*values), P2: rows(*values), P1: rows(b"c")})
    assert [log(net, tp) for tp in (P0, P2, P1)] == [values, values, [b"c"]]
    for request in produced(net, 0):
        assert sum(len(topic.partitions) for topic in request.topics) == 1
    assert (len(produced(net, 0)), waits) == (4, [])


def test_stopping_ends_a_write(net: FakeNet, waits: list[int]) -> None:
    """A caller that waits for a hanging broker gets at once what was not acknowledged."""
    settings = BatchSettings(timeout_ms=60_000)
    sender = producer(net, waits, settings)
    sender.write({P0: rows(b"a")})
    net.brokers[0].script(ApiKey.PRODUCE, Hang())
    failed: Mailbox[WriteFailed] = Mailbox()

    def write() -> None:
        with pytest.raises(WriteFailed) as caught:
            sender.write({P0: rows(b"b"), P1: rows(b"c")})
        failed.put(caught.value)

    scope = ThreadScope("test")
    scope.spawn("writer", write, stop=sender.stop)
    wait_until(lambda: len(produced(net, 0)) == 2, what="the request that hangs")
    assert scope.close(5_000) == []
    assert scope.first_error() is None
    error = failed.get(1_000)
    assert error is not None
    assert error.unwritten == {P0: 1, P1: 1}
    with pytest.raises(WriteFailed):
        sender.write({P0: rows(b"d")})
    assert waits == []


def test_closing_closes_the_connections(net: FakeNet, waits: list[int]) -> None:
    """Until then they are kept from call to call."""
    sender = producer(net, waits)
    sender.write({P0: rows(b"a")})
    opened = list(net.brokers[0]._conversations)
    sender.write({P0: rows(b"b")})
    assert net.brokers[0]._conversations == opened
    sender.close()
    assert all(broker_conversation.is_over for broker_conversation in opened)


def test_metadata_of_the_whole_cluster_names_no_topic(net: FakeNet, waits: list[int]) -> None:
    """So it creates none, even if brokers create topics on demand."""
    net.cluster.auto_create = True
    view = producer(net, waits).whole_cluster()
    assert set(view.leaders) == {P0, P1, P2}
    assert list(net.cluster.topics) == ["t"]


def test_metadata_of_a_broker_that_has_just_started_is_requested_again(
    net: FakeNet, waits: list[int]
) -> None:
    """It knows neither topics nor brokers so far, and for a moment no broker may respond."""
    net.brokers[0].script(ApiKey.METADATA, ScriptedReply(MetadataResponse(brokers=(), topics=())))
    net.brokers[0].script(ApiKey.METADATA, *[Close()] * 2)  # the idle connection, and a new one
    net.brokers[1].script(ApiKey.METADATA, Close())
    view = producer(net, waits).whole_cluster()
    assert set(view.leaders) == {P0, P1, P2}
    assert waits == [70, 70]


def test_a_topic_that_was_deleted_is_not_created_again(net: FakeNet, waits: list[int]) -> None:
    """A metadata request by name would, if brokers create topics on demand."""
    net.cluster.auto_create = True
    sender = producer(net, waits)
    sender.write({P0: rows(b"a")})
    net.cluster.delete_topic("t")
    with pytest.raises(WriteFailed, match="UNKNOWN_TOPIC_OR_PARTITION"):
        sender.write({P0: rows(b"b")})
    assert list(net.cluster.topics) == []
