"""Fixed ranges over lines that find out what brokers serve; brokers here are those of 0.8.2."""

from collections.abc import Iterator

import pytest

from tests.support.ranges import TP, bench, offsets, stretch, values
from tests.support.served import Served
from zkconsumer.errors import DataLost, PartitionFailed
from zkconsumer.fetch.range_parts import LostRange
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.testing.fake_script import Close, Cut, Fail, Hang, Reply
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.fetch import FetchResponse
from zkconsumer.wire.messages.list_offsets import ListedPartition, ListedTopic, ListOffsetsResponse

ENTRY_BYTES = 28


@pytest.fixture
def served() -> Iterator[Served]:
    """Two brokers; ``t-0`` has a hundred records."""
    world = bench(broker_count=2)
    world.net.cluster.append(TP, values(*range(100)))
    one = Served(world)
    yield one
    one.close()


@pytest.mark.parametrize("edges", [(0, 100), (3, 57), (99, 100), (50, 50)])
@pytest.mark.parametrize("fetch_bytes", [40, 10 * ENTRY_BYTES, 1 << 20])
def test_a_range_is_read_exactly(served: Served, edges: tuple[int, int], fetch_bytes: int) -> None:
    """From its first offset to the one before its end, whatever a fetch brings."""
    found = served.reader(fetch_bytes=fetch_bytes).read(stretch(*edges))
    assert offsets(found) == list(range(*edges))
    assert served.world.pauses == []


@pytest.mark.parametrize(
    "step", [Close(), Cut(3), Cut(60), Fail(6), Fail(3), Reply(FetchResponse(topics=()))]
)
@pytest.mark.parametrize("place", [0, 1, 4])
def test_what_passes_is_tried_again_and_nothing_comes_twice(
    served: Served, step: Close, place: int
) -> None:
    """A broken connection, half an answer, a moved leader, an answer about nobody."""
    found = served.reader(fetch_bytes=10 * ENTRY_BYTES).read(stretch(0, 90))
    read = [next(found) for _ in range(place)]
    served.world.net.brokers[0].script(ApiKey.FETCH, step)
    assert offsets([*read, *found]) == list(range(90))
    assert served.world.pauses != []


def test_a_leader_that_moved_is_found(served: Served) -> None:
    """In the middle of a range."""
    found = served.reader(fetch_bytes=10 * ENTRY_BYTES).read(stretch(0, 90))
    read = [next(found), next(found)]
    served.world.net.cluster.move_leader(TP, 1)
    assert offsets([*read, *found]) == list(range(90))


def test_without_a_leader_it_ends_after_the_last_try(served: Served) -> None:
    """And says where it stood."""
    found = served.reader(poll_timeout_ms=0).read(stretch(40, 90))
    served.world.net.cluster.move_leader(TP, None)
    with pytest.raises(PartitionFailed, match=r"t-0 stopped at offset 40: 3 tries .* no leader"):
        list(found)


def test_a_broker_that_hangs_is_given_up(served: Served) -> None:
    """After the time that one answer may take."""
    served.world.net.brokers[0].script(ApiKey.FETCH, *[Hang()] * 5)
    reader = served.reader(timeout_ms=20, poll_timeout_ms=0, retries=1)
    with pytest.raises(PartitionFailed, match="2 tries failed"):
        list(reader.read(stretch(0, 90)))


@pytest.mark.parametrize("fails", [True, False])
def test_a_head_that_expired_is_told_to_the_offset(served: Served, fails: bool) -> None:
    """As an error, or passed over."""
    served.world.net.cluster.log(TP).delete_before(30)
    found = served.reader(fail_on_data_loss=fails).read(stretch(10, 60))
    if fails:
        with pytest.raises(DataLost, match=r"t-0: the offsets \[10, 30\)"):
            list(found)
        return
    lost = next(found)
    assert isinstance(lost, LostRange)
    assert lost.stretch == stretch(10, 30)
    assert offsets(found) == list(range(30, 60))


def test_edges_are_asked_for_until_they_are_told(served: Served) -> None:
    """A question that fails is asked again."""
    served.world.net.cluster.log(TP).delete_before(30)
    served.world.net.brokers[0].script(ApiKey.LIST_OFFSETS, Close(), Close())
    lost, *rest = served.reader(fail_on_data_loss=False).read(stretch(10, 60))
    assert isinstance(lost, LostRange)
    assert offsets(rest) == list(range(30, 60))


def test_a_topic_that_is_gone_is_given_up(served: Served) -> None:
    """As lost, not as a broker that is silent."""
    found = served.reader(timeout_ms=50, poll_timeout_ms=10_000).read(stretch(0, 90))
    served.world.net.cluster.delete_topic("t")
    with pytest.raises(DataLost, match=r"t-0: the offsets \[0, 90\) .*its topic is gone"):
        list(found)


def listed(offset: int) -> ListOffsetsResponse:
    """A leader's word about one of the ends."""
    part = ListedPartition(partition=0, error_code=0, offsets=(offset,))
    return ListOffsetsResponse(topics=(ListedTopic(topic="t", partitions=(part,)),))


def test_edges_that_hold_no_log_are_no_answer(served: Served) -> None:
    """Where it would end before it begins: asked again, and named if that does not change."""
    served.world.net.cluster.log(TP).delete_before(30)
    upside_down = Reply(listed(60)), Reply(listed(40))
    served.world.net.brokers[0].script(ApiKey.LIST_OFFSETS, *upside_down)
    lost, *rest = served.reader(fail_on_data_loss=False).read(stretch(10, 60))
    assert isinstance(lost, LostRange)
    assert lost.stretch == stretch(10, 30)
    assert offsets(rest) == list(range(30, 60))
    assert served.world.pauses != []


def test_a_range_is_read_over_one_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as it lasts: a new one for each fetch would take longer than the fetch."""
    dialled: list[Broker] = []
    dial = served.dialer.dial

    def noting(broker: Broker) -> NegotiatedConnection:
        dialled.append(broker)
        return dial(broker)

    monkeypatch.setattr(served.dialer, "dial", noting)
    found = served.reader(fetch_bytes=10 * ENTRY_BYTES).read(stretch(0, 90))
    assert offsets(found) == list(range(90))
    assert len([one for one in dialled if one.id >= 0]) <= 2  # one to look for the leader
