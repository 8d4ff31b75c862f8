"""When a message counts as consumed, by ``delivery``, and that nothing is committed unrequested."""

from collections.abc import Callable

import pytest

from tests.support.chunks import chunk_of, ignore
from tests.support.control_bench import AUTO_COMMIT_MS, ControlledMember, Group, consume_all
from zkconsumer.config import ConsumerConfig
from zkconsumer.errors import ConfigError, ConsumerTimeout, OffsetCommitFailed, PartitionFailed
from zkconsumer.model import TopicPartition
from zkconsumer.observe import Committed
from zkconsumer.streams.delivery import Delivery

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
ONCE = Delivery.AT_MOST_ONCE


def reading(group: Group, delivery: Delivery, *, take: int = 3) -> ControlledMember:
    """Join member a, with a chunk of ten messages of partition 0, some of them handed over."""
    member = group.joined("a", delivery=delivery)
    member.deliver(T0, range(10))
    assert len(member.consume(take)) == take
    return member


# --- what is covered -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("delivery", "covered"),
    [(Delivery.AT_LEAST_ONCE, "2"), (Delivery.SCALA, "3"), (ONCE, "10")],
)
@pytest.mark.parametrize("when", ["timer", "rebalance", "shutdown"])
def test_what_an_automatic_commit_covers(delivery: Delivery, covered: str, when: str) -> None:
    """It leaves out the message in hand, or includes it, or the whole chunk, on every occasion."""
    group = Group()
    member = reading(group, delivery)
    match when:
        case "timer":
            group.pass_time(AUTO_COMMIT_MS)
        case "rebalance":
            assert group.joined("0").starts() == {T0: int(covered)}
        case _:
            member.close()
            group.settle()
    assert group.offset(0) == covered


@pytest.mark.parametrize("delivery", [Delivery.AT_LEAST_ONCE, Delivery.SCALA])
def test_the_callers_commit_covers_the_same_in_each_mode(delivery: Delivery) -> None:
    """It covers every message that was handed over."""
    group = Group()
    member = reading(group, delivery)
    request = member.commit()
    group.settle()
    assert request.reply.wait(0) == (1, True)
    assert group.offset(0) == "3"


def test_scala_mode_covers_even_the_first_message_in_hand() -> None:
    """The original moves its offset before the caller has the message."""
    group = Group()
    reading(group, Delivery.SCALA, take=1)
    group.pass_time(AUTO_COMMIT_MS)
    assert group.offset(0) == "1"


# --- at most once --------------------------------------------------------------------------------


def test_at_most_once_commits_before_the_first_message_is_handed_over() -> None:
    """There is one write per chunk."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(5))
    member.deliver(T0, range(5, 8))
    seen = [(member.consume(1), group.offset(0)) for _ in range(8)]
    assert seen == [([(0, number)], "5" if number < 5 else "8") for number in range(8)]
    assert [dict(committed.offsets) for committed in member.observed.of(Committed)] == [
        {T0: 5},
        {T0: 8},
    ]


def test_at_most_once_hands_over_nothing_that_it_could_not_commit() -> None:
    """The stream raises; the next iteration tries to commit the same chunk again."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(3))
    group.server.disconnect(member.store.session_id)
    for _ in range(2):
        with pytest.raises(OffsetCommitFailed, match="t-0"):
            member.consume(1)
    group.server.reconnect(member.store.session_id)
    group.settle()
    assert member.consume(3) == [(0, 0), (0, 1), (0, 2)]
    assert group.offset(0) == "3"


def test_at_most_once_repeats_nothing_when_the_response_to_a_commit_was_lost() -> None:
    """The commit succeeded; the chunk was not handed over before, and is now, once."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(3))
    member.store.lose_replies(1)
    with pytest.raises(OffsetCommitFailed):
        member.consume(1)
    assert consume_all(member.stream()) == [(0, 0), (0, 1), (0, 2)]
    assert group.offset(0) == "3"


def test_at_most_once_drops_a_chunk_whose_partition_was_handed_over() -> None:
    """None of its messages is handed over, and nothing is committed for it."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(3))
    other = group.joined("0")
    assert consume_all(member.stream()) == []
    assert group.offset(0) == "0"  # where the reset policy started
    assert other.starts() == {T0: 0}


def test_at_most_once_drops_a_chunk_of_a_lost_session() -> None:
    """This is so even if the same member claims the partition again."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(3))
    group.server.expire(member.store.session_id)
    assert consume_all(member.stream()) == []
    group.settle()
    assert consume_all(member.stream()) == []
    assert group.offset(0) is None


def test_at_most_once_refuses_to_deliver_what_another_session_took() -> None:
    """The commit before the chunk is refused, even before the member knows of the other owner."""
    group = Group()
    member = group.joined("a", delivery=ONCE)
    member.deliver(T0, range(3))
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.admin.create("/consumers/g/owners/t/0", b"g_x-0", ephemeral=True)
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        member.consume(1)
    assert group.offset(0) is None


def test_at_most_once_delivers_no_message_twice_across_hand_overs_and_lost_sessions() -> None:
    """Two members take turns; each has the rest of a chunk in hand when it loses the partition."""
    group = Group(partitions=1)
    first = group.joined("a", delivery=ONCE)
    delivered: list[int] = []
    end = 0
    for _ in range(4):
        end = _fetch_and_take(first, end, delivered)
        second = group.joined("0", delivery=ONCE)
        end = _fetch_and_take(second, end, delivered)
        delivered += [offset for _, offset in consume_all(first.stream())]
        group.server.expire(second.store.session_id)
        group.settle()
        second.close()
        group.settle()
        delivered += [offset for _, offset in consume_all(second.stream())]
        group.server.expire(first.store.session_id)
        group.settle()
    assert delivered == sorted(set(delivered))
    assert len(delivered) >= 16


def _fetch_and_take(member: ControlledMember, end: int, delivered: list[int]) -> int:
    """Deliver five messages and take two; return the end of the log for the next member."""
    start = member.starts()[T0] or 0
    assert start >= end
    member.deliver(T0, range(start, start + 5))
    delivered += [offset for _, offset in member.consume(2)]
    return start + 5


def test_at_most_once_is_not_undone_by_the_callers_commit() -> None:
    """All that was handed over is committed already; going back would repeat messages."""
    group = Group()
    member = reading(group, ONCE)
    request = member.commit()
    group.settle()
    request.reply.wait(0)
    member.consume(3)
    group.server.expire(member.store.session_id)
    group.settle()
    assert (member.starts()[T0] or 0) >= 6


def test_at_most_once_needs_automatic_commits() -> None:
    """Without them it would commit unknown to the caller; the error names both settings."""
    with pytest.raises(ConfigError, match=r"delivery.*auto\.commit\.enable"):
        ConsumerConfig(
            zookeeper_connect="z:2181",
            group_id="g",
            delivery="at_most_once",
            auto_commit_enable=False,
        )


# --- without automatic commits -------------------------------------------------------------------


def _let_time_pass(group: Group, member: ControlledMember) -> None:
    del member
    group.pass_time(100 * AUTO_COMMIT_MS)


def _transfer(group: Group, member: ControlledMember) -> None:
    group.joined("0", auto_commit=False)
    assert set(member.owned()) == {T1}


def _grow_topic(group: Group, member: ControlledMember) -> None:
    group.set_topic("t", 4)
    group.settle()
    assert len(member.owned()) == 4


def _shut_down(group: Group, member: ControlledMember) -> None:
    member.close()
    group.settle()


def _lose_the_session(group: Group, member: ControlledMember) -> None:
    group.server.expire(member.store.session_id)
    group.settle()


def _lose_an_owner_node(group: Group, member: ControlledMember) -> None:
    claim = member.owned()[T0]
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.pass_time(AUDIT_MS)
    assert not claim.active


def _read_a_damaged_record(group: Group, member: ControlledMember) -> None:
    claim = member.owned()[T1]
    damaged = PartitionFailed(T1, 5, "damaged")
    assert claim.sink.offer(chunk_of(claim, range(2, 5), next_offset=5, error=damaged), ignore)
    claim.halted = True
    with pytest.raises((PartitionFailed, ConsumerTimeout)):
        list(member.stream("t", 0))
    with pytest.raises((PartitionFailed, ConsumerTimeout)):
        list(member.stream("t", 1))
    group.pass_time(AUDIT_MS)
    assert not claim.active


@pytest.mark.parametrize(
    "event",
    [
        _let_time_pass,
        _transfer,
        _grow_topic,
        _shut_down,
        _lose_the_session,
        _lose_an_owner_node,
        _read_a_damaged_record,
    ],
)
@pytest.mark.parametrize("delivery", [Delivery.AT_LEAST_ONCE, Delivery.SCALA])
def test_without_automatic_commits_nothing_is_committed_unrequested(
    event: Callable[[Group, ControlledMember], None], delivery: Delivery
) -> None:
    """This includes the start offset that the reset policy chose (KAFKA-919)."""
    group = Group()
    member = group.joined(
        "a",
        {"t": 2},
        auto_commit=False,
        audit_interval_ms=AUDIT_MS,
        delivery=delivery,
    )
    for tp in (T0, T1):
        member.deliver(tp, [0, 1])
    for number in (0, 1):
        consume_all(member.stream("t", number))
    event(group, member)
    member.close()
    group.settle()
    assert member.observed.of(Committed) == []
    assert group.children("/consumers/g/offsets") == []
