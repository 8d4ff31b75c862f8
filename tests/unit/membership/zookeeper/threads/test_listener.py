"""The caller's listener in a rebalance: when it is called, what it may do, what it can't break."""

import pytest

from tests.support.control_bench import ControlledMember, Group, consume_all
from tests.support.recording_listener import RecordingListener, Share, plainly
from zkconsumer.errors import OffsetCommitFailed
from zkconsumer.model import TopicPartition
from zkconsumer.observe import PartitionsReleased

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def listened(group: Group, listener: RecordingListener, **settings: bool) -> ControlledMember:
    """Join member a with this listener."""
    member = group.member("a", auto_commit=settings.get("auto_commit", True))
    member.listener.listener = listener
    member.join({"t": 1})
    group.settle()
    return member


# --- what it is told -----------------------------------------------------------------------------


def test_it_gets_exactly_the_released_partitions() -> None:
    """Partitions that stay are left out; joining releases nothing."""
    group, listener = Group(partitions=5), RecordingListener()
    member = listened(group, listener)
    assert listener.released == []
    group.joined("b")
    assert listener.released == [{"t": frozenset({3, 4})}]
    group.joined("0")
    assert listener.released[1:] == [{"t": frozenset({0, 1})}]
    reported = [
        {TopicPartition(topic, number) for topic, numbers in share.items() for number in numbers}
        for share in listener.released
    ]
    assert [
        set(partitions_released.owned)
        for partitions_released in member.observed.of(PartitionsReleased)
    ] == reported


def test_released_partitions_are_grouped_by_topic() -> None:
    """Each topic has its partition numbers."""
    group, listener = Group(partitions=2), RecordingListener()
    group.set_topic("u", 3)
    member = group.member("a")
    member.listener.listener = listener
    member.join({"t": 1, "u": 1})
    group.settle()
    group.joined("0", {"t": 1, "u": 1})
    assert listener.released == [{"t": frozenset({0}), "u": frozenset({0, 1})}]


def test_it_is_called_between_the_end_of_delivery_and_the_release() -> None:
    """Delivery of these partitions has ended, and no other member can have them yet."""
    group = Group()
    seen: list[object] = []

    def record(_share: Share) -> None:
        seen.append((group.owners(), consume_all(member.stream()), group.offset(0)))

    member = listened(group, RecordingListener(record))
    claim = member.owned()[T0]
    member.deliver(T0, [0, 1, 2])
    member.consume(2)
    group.joined("0")
    assert seen == [({0: "g_a-0", 1: "g_a-0"}, [], None)]
    assert not claim.active
    assert group.offset(0) == "2"


def test_partitions_that_stay_are_delivered_while_it_runs() -> None:
    """A rebalance touches only partitions that change hands."""
    group = Group()
    seen: list[object] = []
    member = listened(
        group, RecordingListener(lambda _share: seen.append(consume_all(member.stream())))
    )
    member.deliver(T0, [0, 1])
    member.deliver(T1, [7])
    group.joined("0")
    assert seen == [[(1, 7)]]


def test_the_assignment_is_that_of_the_whole_group() -> None:
    """It equals the owner nodes in the end; the name is the member's own."""
    group, listener = Group(partitions=3), RecordingListener()
    listened(group, listener)
    group.joined("b", {"t": 2})
    assert [plainly(assignment) for assignment in listener.assigned] == [
        {"t": {0: "g_a-0", 1: "g_a-0", 2: "g_a-0"}},
        {"t": {0: "g_a-0", 1: "g_b-0", 2: "g_b-1"}},
    ]
    assert plainly(listener.assigned[-1])["t"] == group.owners()
    assert listener.consumer_ids == {"g_a"}


def test_it_is_called_when_only_the_assignment_of_others_changes() -> None:
    """It is called once per change, and not for a rebalance that changes nothing."""
    group, listener = Group(partitions=1), RecordingListener()
    group.set_topic("u", 2)
    member = listened(group, listener)
    claim = member.owned()[T0]
    group.joined("b", {"u": 1})
    group.joined("c", {"u": 1})
    group.joined("d", {})
    group.fire_watch("/brokers/topics/t")
    group.settle()
    assert [plainly(assignment).get("u") for assignment in listener.assigned] == [
        None,
        {0: "g_b-0", 1: "g_b-0"},
        {0: "g_b-0", 1: "g_c-0"},
    ]
    assert listener.released == []
    assert member.owned() == {T0: claim}


def test_it_is_called_before_anything_is_fetched() -> None:
    """The owner nodes exist already."""
    group = Group()
    seen: list[object] = []
    listener = RecordingListener(on_start=lambda _: seen.append((group.owners(), member.starts())))
    member = group.member("a")
    member.listener.listener = listener
    member.join({"t": 1})
    group.settle()
    assert seen == [({0: "g_a-0", 1: "g_a-0"}, {})]
    assert set(member.starts()) == {T0, T1}


def test_a_shutdown_releases_everything() -> None:
    """It is called before the nodes are deleted; a commit in it succeeds."""
    group = Group()
    seen: list[object] = []

    def finish(_share: Share) -> None:
        seen.append((group.owners(), member.commit_inside()))

    listener = RecordingListener(finish)
    member = listened(group, listener, auto_commit=False)
    member.deliver(T0, [0, 1])
    member.consume(1)
    member.close()
    group.settle()
    assert listener.released == [{"t": frozenset({0, 1})}]
    assert seen == [({0: "g_a-0", 1: "g_a-0"}, 1)]
    assert (group.offset(0), group.owners()) == ("1", {})


def test_partitions_lost_with_the_session_are_not_released() -> None:
    """Others may own them already, so nothing can be finished; the new assignment is reported."""
    group, listener = Group(), RecordingListener()
    member = listened(group, listener)
    group.server.expire(member.store.session_id)
    group.settle()
    assert listener.released == []
    assert [plainly(assignment) for assignment in listener.assigned] == [
        {"t": {0: "g_a-0", 1: "g_a-0"}},
        {"t": {0: "g_a-0", 1: "g_a-0"}},
    ]


def test_a_partition_whose_node_was_deleted_is_not_released() -> None:
    """Partitions that are handed over in the same round are reported."""
    group, listener = Group(partitions=4), RecordingListener()
    listened(group, listener)
    group.admin.delete_many(["/consumers/g/owners/t/0"])
    group.joined("0")
    assert listener.released == [{"t": frozenset({1})}]


def test_a_member_without_partitions_releases_nothing() -> None:
    """With more members than partitions, it gets the assignment, but no empty release."""
    group, listener = Group(partitions=1), RecordingListener()
    group.joined("0")
    member = listened(group, listener)
    member.close()
    group.settle()
    assert listener.released == []
    assert [plainly(assignment) for assignment in listener.assigned] == [{"t": {0: "g_0-0"}}]


# --- what it may do ------------------------------------------------------------------------------


def test_a_commit_in_it_covers_what_was_handed_over() -> None:
    """This holds for partitions that leave or stay, and includes the messages in hand."""
    group = Group()
    counts: list[int] = []
    member = listened(
        group, RecordingListener(lambda _share: counts.append(member.commit_inside()))
    )
    member.deliver(T0, [0, 1, 2])
    member.deliver(T1, [0, 1])
    member.consume(4)
    successor = group.joined("0")
    assert counts == [2]
    assert (group.offset(0), group.offset(1)) == ("3", "1")
    assert successor.starts() == {T0: 3}


def test_explicit_offsets_in_it_are_where_the_next_owner_starts() -> None:
    """Without automatic commits they are final."""
    group = Group()
    member = listened(
        group,
        RecordingListener(lambda _share: member.commit_inside({T0: 1})),
        auto_commit=False,
    )
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    assert group.joined("0").starts() == {T0: 1}


def test_explicit_offsets_in_it_outlast_the_automatic_commit() -> None:
    """The caller has said which messages it has finished; the others come again."""
    group = Group()
    member = listened(group, RecordingListener(lambda _share: member.commit_inside({T0: 1})))
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    assert group.joined("0").starts() == {T0: 1}


def test_a_commit_in_it_of_a_foreign_partition_is_refused() -> None:
    """The member's own partition in the same call is committed."""
    group = Group()
    received: list[OffsetCommitFailed] = []

    def commit(_share: Share) -> None:
        with pytest.raises(OffsetCommitFailed) as caught:
            member.commit_inside({T0: 2, TopicPartition("u", 0): 5})
        received.append(caught.value)

    member = listened(group, RecordingListener(commit), auto_commit=False)
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    assert group.joined("0").starts() == {T0: 2}
    assert set(received[0].failed) == {TopicPartition("u", 0)}


def test_a_commit_after_it_no_longer_covers_released_partitions() -> None:
    """It is covered neither by a commit of everything, nor by name."""
    group = Group()
    member = listened(group, RecordingListener(), auto_commit=False)
    member.deliver(T0, [0, 1, 2])
    member.consume(3)
    group.joined("0")
    everything, by_name = member.commit(), member.commit({T0: 3})
    group.settle()
    assert everything.reply.wait(0) == (0, True)
    with pytest.raises(OffsetCommitFailed, match="t-0"):
        by_name.reply.wait(0)
    assert group.offset(0) is None


@pytest.mark.parametrize("when", ["release", "start"])
def test_a_shutdown_in_it_comes_after_the_rebalance(when: str) -> None:
    """The round completes, then the member leaves; the others take over everything."""
    group = Group()
    closing: list[object] = []

    def shut_down(_reported: object) -> None:
        closing.append(member.close())

    listener = RecordingListener(**{f"on_{when}": shut_down})
    member = group.joined("a")
    member.listener.listener = listener
    member.deliver(T0, [0, 1])
    member.deliver(T1, [0, 1])
    assert len(consume_all(member.stream())) == 4
    other = group.joined("0")
    assert member.control.done
    assert group.owners() == {0: "g_0-0", 1: "g_0-0"}
    assert (group.offset(0), group.offset(1)) == ("2", "2")
    assert other.starts() == {T0: 2, T1: 2}
    assert list(member.stream()) == []
