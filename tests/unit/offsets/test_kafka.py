"""Offsets in Kafka: the effect of each response of the coordinator."""

from collections.abc import Iterator

import pytest

from tests.fakes.fake_script import Close, Cut, Fail, Hang, ScriptedReply, Step
from tests.support.offset_bench import T0, T1, T2, OffsetBench
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import LocalProtocolError, RequestTimedOut, TransportError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.coordinator import ChannelSettings
from zkconsumer.offsets.kafka import UNKNOWN_TRIES
from zkconsumer.offsets.store import FetchedOffset
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages import offset_commit as oc
from zkconsumer.wire.messages import offset_fetch as of

COMMIT, FETCH = ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH
LOADING = Fail(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
MOVED = Fail(ErrorCode.NOT_COORDINATOR)
OFFSETS = {tp: OffsetAndMetadata(number) for number, tp in enumerate((T0, T1, T2))}


@pytest.fixture
def bench() -> Iterator[OffsetBench]:
    """Three brokers; broker 0 is the coordinator."""
    bench = OffsetBench()
    yield bench
    bench.channel.close()


def committed(codes: dict[TopicPartition, int]) -> ScriptedReply:
    """Return an OffsetCommit response with these error codes."""
    partitions = tuple(
        oc.CommittedPartition(partition=tp.partition, error_code=code) for tp, code in codes.items()
    )
    return ScriptedReply(
        oc.OffsetCommitResponse(topics=(oc.CommittedTopic(topic="t", partitions=partitions),))
    )


def fetched(responses: dict[TopicPartition, tuple[int, int]]) -> ScriptedReply:
    """Return an OffsetFetch response with offset and error code of each partition."""
    partitions = tuple(
        of.OffsetFetchedPartition(
            partition=tp.partition, offset=offset, metadata="", error_code=code
        )
        for tp, (offset, code) in responses.items()
    )
    return ScriptedReply(
        of.OffsetFetchResponse(topics=(of.OffsetFetchedTopic(topic="t", partitions=partitions),))
    )


def sent(bench: OffsetBench) -> list[list[TopicPartition]]:
    """Return the partitions of each commit that the coordinator received."""
    return [
        [
            TopicPartition(topic.topic, partition.partition)
            for topic in request.topics
            for partition in topic.partitions
        ]
        for frame in bench.net.brokers[0].requests
        if isinstance(request := frame.request, oc.OffsetCommitRequest)
    ]


# --- fetch ----------------------------------------------------------------------------------------


def test_all_partitions_are_in_one_request(bench: OffsetBench) -> None:
    """A partition given twice is sent once; without partitions no request is sent."""
    store = bench.store()
    assert store.fetch([]) == {}
    assert store.commit({}) == {}
    assert bench.requested(ApiKey.CONSUMER_METADATA) == []
    assert store.commit(OFFSETS) == dict.fromkeys(OFFSETS)
    assert store.fetch([T2, T0, T1, T0]) == {
        tp: FetchedOffset(entry.offset) for tp, entry in OFFSETS.items()
    }
    (frame,) = [request for request in bench.net.brokers[0].requests if request.api_key is FETCH]
    assert (frame.version, frame.request) == (
        1,
        of.OffsetFetchRequest(
            group_id="g", topics=(of.OffsetFetchTopic(topic="t", partitions=(2, 0, 1)),)
        ),
    )


def test_a_coordinator_that_loads_is_waited_for(bench: OffsetBench) -> None:
    """It is asked again on the same channel, as nobody else has the offsets."""
    bench.commit(7)
    bench.net.brokers[0].script(FETCH, LOADING, LOADING)
    assert bench.store().fetch([T0]) == {T0: FetchedOffset(7)}
    assert bench.requested(FETCH) == [0, 0, 0]
    assert bench.requested(ApiKey.CONSUMER_METADATA) == [0]


@pytest.mark.parametrize(
    ("step", "requested"),
    [
        (MOVED, [0, 1]),
        (Fail(ErrorCode.COORDINATOR_NOT_AVAILABLE), [0, 1]),
        (Close(), [0, 0, 1]),
        (Cut(7), [0, 0, 1]),
    ],
)
def test_a_coordinator_that_moved_is_looked_up(
    bench: OffsetBench, step: Step, requested: list[int]
) -> None:
    """It may fail without an error code, too; one broken idle connection proves nothing."""
    bench.commit(7)
    bench.net.cluster.coordinator = 1
    bench.net.brokers[0].script(FETCH, step)
    assert bench.store().fetch([T0]) == {T0: FetchedOffset(7)}
    assert bench.requested(FETCH) == requested
    assert bench.open_connections() == 1


def test_a_coordinator_that_never_finishes_loading_fails_the_call(bench: OffsetBench) -> None:
    """It is not "no offset": the caller retries, and starts nowhere in the meantime."""
    bench = OffsetBench(bench.net, settings=ChannelSettings(backoff_ms=20, limit_ms=200))
    bench.net.cluster.offsets_loading = True
    with pytest.raises(RequestTimedOut, match=r"broker 0.*COORDINATOR_LOAD_IN_PROGRESS \(14\)"):
        bench.store().fetch([T0])
    bench.net.cluster.offsets_loading = False
    assert bench.store().fetch([T0]) == {T0: FetchedOffset(None)}


def test_a_missing_offset_is_none(bench: OffsetBench) -> None:
    """The broker's response is -1 without an error; some clients committed -1 themselves."""
    bench.net.brokers[0].script(FETCH, fetched({T0: (-1, 0), T1: (0, 0)}))
    assert bench.store().fetch([T0, T1]) == {T0: FetchedOffset(None), T1: FetchedOffset(0)}


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "TOPIC_AUTHORIZATION_FAILED (29)"),
        (ErrorCode.UNKNOWN, "UNKNOWN (-1)"),
        (4711, "error code 4711"),
    ],
)
def test_an_error_of_one_partition_is_returned(
    bench: OffsetBench, code: int, reported: str
) -> None:
    """It is not "no offset", which would skip or repeat messages; the others are returned."""
    bench.net.brokers[0].script(FETCH, fetched({T0: (-1, code), T1: (8, 0)}))
    response = bench.store().fetch([T0, T1])
    assert response[T1] == FetchedOffset(8)
    assert response[T0].offset is None
    error = str(response[T0].error)
    assert error.startswith("group g: offset of t-0 in Kafka: ")
    assert reported in error
    assert bench.requested(FETCH) == [0]


def test_the_error_of_an_invalid_offset_names_a_remedy(bench: OffsetBench) -> None:
    """Brokers keep whatever a client commits, until another commit replaces it."""
    bench.net.brokers[0].script(FETCH, fetched({T0: (-5, 0)}))
    error = bench.store().fetch([T0])[T0].error
    assert error is not None
    assert "-5 is not an offset" in error
    assert "zkconsumer offsets set --force" in error


def test_an_offset_that_comes_with_an_error_does_not_count(bench: OffsetBench) -> None:
    """With an error code the offset is ignored, whatever its value."""
    bench.net.brokers[0].script(FETCH, fetched({T0: (5, ErrorCode.UNKNOWN)}))
    assert bench.store().fetch([T0])[T0].offset is None


def test_a_partition_that_the_coordinator_does_not_know_yet_is_retried(bench: OffsetBench) -> None:
    """A broker that has just started knows no topics, though it may have the offset."""
    bench.commit(7)
    unknown = fetched({T0: (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), T1: (-1, 0)})
    bench.net.brokers[0].script(FETCH, *[unknown] * (UNKNOWN_TRIES - 1))
    assert bench.store().fetch([T0, T1]) == {T0: FetchedOffset(7), T1: FetchedOffset(None)}


def test_a_partition_that_the_coordinator_never_knows_fails(bench: OffsetBench) -> None:
    """After some attempts the partition fails; the others do not wait for long."""
    nowhere = TopicPartition("nowhere", 0)
    bench.commit(7)
    response = bench.store().fetch([T0, nowhere])
    assert response[T0] == FetchedOffset(7)
    assert "UNKNOWN_TOPIC_OR_PARTITION (3)" in str(response[nowhere].error)
    assert len(bench.requested(FETCH)) == UNKNOWN_TRIES


def test_a_partition_missing_in_the_response_fails(bench: OffsetBench) -> None:
    """A missing partition is not "no offset" either; one that was not requested is ignored."""
    bench.net.brokers[0].script(FETCH, fetched({T0: (3, 0), T2: (4, 0)}))
    response = bench.store().fetch([T0, T1])
    assert list(response) == [T0, T1]
    assert response[T0] == FetchedOffset(3)
    assert "lacks it" in str(response[T1].error)


# --- commit ---------------------------------------------------------------------------------------


def test_offset_and_metadata_are_sent(bench: OffsetBench) -> None:
    """The group is not Kafka's: there is no generation or member id; the broker sets the time."""
    assert bench.store().commit({T0: OffsetAndMetadata(42, "nöte")}) == {T0: None}
    (frame,) = [request for request in bench.net.brokers[0].requests if request.api_key is COMMIT]
    partition = oc.OffsetCommitPartition(partition=0, offset=42, timestamp=-1, metadata="nöte")
    assert (frame.version, frame.request) == (
        1,
        oc.OffsetCommitRequest(
            group_id="g",
            generation_id=-1,
            member_id="",
            topics=(oc.OffsetCommitTopic(topic="t", partitions=(partition,)),),
        ),
    )


def test_a_commit_is_sent_once_by_default(bench: OffsetBench) -> None:
    """An automatic commit is repeated anyway; the reason of the failure is returned."""
    bench.net.brokers[0].script(COMMIT, LOADING)
    assert "COORDINATOR_LOAD_IN_PROGRESS (14)" in str(bench.commit()[T0])
    assert bench.requested(COMMIT) == [0]
    bench.net.brokers[0].script(COMMIT, MOVED)
    assert "NOT_COORDINATOR (16)" in str(bench.commit()[T0])
    assert bench.commit() == {T0: None}
    assert len(bench.requested(ApiKey.CONSUMER_METADATA)) == 2


def test_a_commit_is_retried_if_wanted(bench: OffsetBench) -> None:
    """There are as many retries as configured; then the last response is returned."""
    store = bench.store(commit_max_retries=3)
    bench.net.brokers[0].script(COMMIT, LOADING, MOVED, Close())
    assert store.commit(OFFSETS, retry=True) == dict.fromkeys(OFFSETS)
    bench.net.brokers[0].script(COMMIT, *[LOADING] * 4)
    reported = store.commit(OFFSETS, retry=True)
    assert all("COORDINATOR_LOAD_IN_PROGRESS (14)" in str(why) for why in reported.values())
    assert store.commit(OFFSETS, retry=True) == dict.fromkeys(OFFSETS)


def test_only_what_failed_is_sent_again(bench: OffsetBench) -> None:
    """Only retriable failures are sent again; the others keep their reason."""
    first = committed({T0: 0, T1: ErrorCode.NOT_COORDINATOR, T2: ErrorCode.UNKNOWN_MEMBER_ID})
    bench.net.brokers[0].script(COMMIT, first)
    reported = bench.store().commit(OFFSETS, retry=True)
    assert (reported[T0], reported[T1]) == (None, None)
    assert "UNKNOWN_MEMBER_ID (25)" in str(reported[T2])
    assert sent(bench) == [[T0, T1, T2], [T1]]


def test_partitions_committed_before_a_failed_retry_count_as_committed(bench: OffsetBench) -> None:
    """The others have the failure of the later attempt as reason."""
    first = committed({T0: 0, T1: ErrorCode.NOT_COORDINATOR, T2: 4711})
    bench.net.brokers[0].script(COMMIT, first, Close(), Close())
    reported = bench.store(commit_max_retries=2).commit(OFFSETS, retry=True)
    assert reported[T0] is None
    assert "closed the connection" in str(reported[T1])
    assert "error code 4711" in str(reported[T2])


def test_no_response_fails_the_call(bench: OffsetBench) -> None:
    """It is unknown what was committed."""
    bench = OffsetBench(bench.net, settings=ChannelSettings(timeout_ms=50, limit_ms=500))
    bench.net.brokers[0].script(COMMIT, Hang())
    reported = r"group g: no offset coordinator responds.*no response"
    with pytest.raises(TransportError, match=reported):
        bench.commit()
    assert bench.open_connections() == 0


def test_a_channel_that_the_broker_closed_is_opened_again(bench: OffsetBench) -> None:
    """Brokers close idle connections: a commit with a single attempt succeeds all the same."""
    bench.commit()
    bench.net.brokers[0].stop()
    bench.net.brokers[0].start()
    assert bench.commit(6) == {T0: None}
    assert bench.store().fetch([T0]) == {T0: FetchedOffset(6)}


@pytest.mark.parametrize(
    ("code", "reported"),
    [
        (ErrorCode.OFFSET_METADATA_TOO_LARGE, "offset.metadata.max.bytes"),
        (ErrorCode.ILLEGAL_GENERATION, "give one of the two another name"),
        (ErrorCode.UNKNOWN_MEMBER_ID, "give one of the two another name"),
        (ErrorCode.REBALANCE_IN_PROGRESS, "give one of the two another name"),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, "GROUP_AUTHORIZATION_FAILED (30)"),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "UNKNOWN_TOPIC_OR_PARTITION (3)"),
    ],
)
def test_a_permanent_error_is_not_retried(
    bench: OffsetBench, code: ErrorCode, reported: str
) -> None:
    """The reason has the code's name, and what to do."""
    bench.net.brokers[0].script(COMMIT, Fail(code))
    why = str(bench.store().commit({T0: OffsetAndMetadata(1)}, retry=True)[T0])
    assert why.startswith(f"{code.name} ({code.value}): {code.text}")
    assert reported in why
    assert bench.requested(COMMIT) == [0]


def test_metadata_above_the_limit_is_refused(bench: OffsetBench) -> None:
    """It is counted in UTF-16 units, as the broker counts, so nothing valid is refused here."""
    store = bench.store(metadata_limit=4)
    reported = store.commit(
        {
            T0: OffsetAndMetadata(1, "ößßö"),
            T1: OffsetAndMetadata(1, "12345"),
            T2: OffsetAndMetadata(1, "\U0001f600\U0001f600x"),
        }
    )
    assert reported[T0] is None
    assert all("has 5 characters, but the brokers accept 4" in str(reported[tp]) for tp in (T1, T2))
    assert sent(bench) == [[T0]]


def test_an_offset_that_no_request_can_carry_is_refused_alone(bench: OffsetBench) -> None:
    """Each is refused with its reason, and not sent."""
    bad = {
        TopicPartition("t", 2**31): OffsetAndMetadata(1),
        TopicPartition("t", -1): OffsetAndMetadata(1),
        TopicPartition("no/topic", 0): OffsetAndMetadata(1),
        T1: OffsetAndMetadata(2**63),
        T2: OffsetAndMetadata(1, "\ud800"),
    }
    reported = bench.store().commit({**bad, T0: OffsetAndMetadata(1)})
    assert [tp for tp, why in reported.items() if why is None] == [T0]
    assert sent(bench) == [[T0]]
    assert "can't be an offset" in str(reported[T1])
    assert "UTF-8" in str(reported[T2])


def test_a_fetch_that_no_request_can_carry_is_an_error(bench: OffsetBench) -> None:
    """It is our own error, and does not affect later fetches."""
    store = bench.store()
    store.fetch([T0])
    with pytest.raises(LocalProtocolError):
        store.fetch([TopicPartition("t", 2**31)])
    assert store.fetch([T0]) == {T0: FetchedOffset(None)}
