"""Control threads of one group on an in-memory ZooKeeper: joining, and handing partitions over."""

import logging
from functools import partial

import pytest

from tests.support.control_bench import BACKOFF_MS, ControlledMember, Group, consume_all
from zkconsumer.assignment.filtering import FilterBudget
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.errors import RebalanceFailed
from zkconsumer.membership.zookeeper.core.events import RebalanceCause, RebalanceTriggered
from zkconsumer.membership.zookeeper.threads import group_reader
from zkconsumer.model import TopicPartition

T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)


def registration(member: ControlledMember) -> str:
    """Return the path of a member's registration."""
    return f"/consumers/g/ids/{member.consumer_id}"


# --- joining -------------------------------------------------------------------------------------


def test_a_member_alone_registers_and_owns_everything() -> None:
    """Registration, owner nodes and start offsets are as the original writes them."""
    group = Group()
    member = group.joined("a")
    text = group.text(registration(member))
    assert text is not None
    assert text.startswith('{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":"')
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert member.starts() == {T0: None, T1: None}
    assert set(member.owned()) == {T0, T1}


def test_a_stored_offset_is_where_fetching_starts() -> None:
    """It counts as consumed and committed, so there is nothing new to commit."""
    group = Group()
    group.write("/consumers/g/offsets/t/0", b"42")
    member = group.joined("a")
    assert member.starts() == {T0: 42, T1: None}
    claim = member.owned()[T0]
    assert (claim.consumed_offset, claim.committed_offset) == (42, 42)


def test_an_empty_subscription_joins_and_owns_nothing() -> None:
    """As the original asserts, ownership and delivery of the other members do not change."""
    group = Group()
    first = group.joined("a")
    claims = dict(first.owned())
    group.joined("b", {})
    assert group.ids() == ["g_a", "g_b"]
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert first.owned() == claims


def test_two_streams_share_the_partitions_and_each_gets_its_own() -> None:
    """As the original asserts, thread 0 reads partition 0, and thread 1 partition 1."""
    group = Group()
    member = group.joined("a", {"t": 2})
    assert group.owners() == {0: "g_a-0", 1: "g_a-1"}
    member.deliver(T0, [5])
    member.deliver(T1, [7])
    assert consume_all(member.stream("t", 0)) == [(0, 5)]
    assert consume_all(member.stream("t", 1)) == [(1, 7)]


def test_a_topic_that_does_not_exist_is_read_as_soon_as_it_does(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Joining succeeds, and the log names the missing topic once."""
    group = Group(partitions=0)
    with caplog.at_level(logging.WARNING):
        member = group.joined("a")
        group.joined("b")
    texts = [record.getMessage() for record in caplog.records]
    assert [text for text in texts if text.startswith("g_a:")] == [
        "g_a: topic t does not exist or has no partitions; it is read as soon as it has some"
    ]
    group.set_topic("t", 1)
    group.settle()
    assert set(member.owned()) == {T0}


def test_the_partitions_of_a_topic_that_grows_are_assigned_again() -> None:
    """From 2 to 4 partitions, every member gets two; a partition that stays is not touched."""
    group = Group()
    first, second = group.joined("a"), group.joined("b")
    kept = first.owned()[T0]
    group.set_topic("t", 4)
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0", 2: "g_b-0", 3: "g_b-0"}
    assert first.owned()[T0] is kept
    assert len(second.owned()) == 2


def test_a_filter_reads_topics_that_come_later() -> None:
    """New topics that match are read, others are not."""
    group = Group()
    member = group.member("a")
    request = member.join(Whitelist("t.*"))
    group.settle()
    assert request.reply.wait(0) == (None, True)
    group.set_topic("t2", 1)
    group.set_topic("other", 1)
    group.settle()
    assert set(member.owned()) == {T0, T1, TopicPartition("t2", 0)}
    member.deliver(TopicPartition("t2", 0), [3])
    assert consume_all(member.stream("t.*")) == [(0, 3)]


def test_without_brokers_joining_waits_for_nobody() -> None:
    """Joining succeeds without partitions; reading begins when a broker registers."""
    group = Group()
    broker = group.text("/brokers/ids/0")
    assert broker is not None
    group.admin.delete_many(["/brokers/ids/0"])
    member = group.joined("a")
    assert member.owned() == {}
    group.write("/brokers/ids/0", broker.encode())
    group.settle()
    assert set(member.owned()) == {T0, T1}


def test_an_unreadable_registration_is_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    """An unreadable registration gets no partitions and stops nobody; it is logged once."""
    group = Group()
    group.admin.create("/consumers/g/ids/g_pykafka", b"t", ephemeral=True)
    with caplog.at_level(logging.WARNING):
        member = group.joined("a")
        group.joined("b")
    assert group.owners() == {0: "g_a-0", 1: "g_b-0"}
    warnings = [line for line in caplog.messages if "g_pykafka" in line and line.startswith("g_a:")]
    assert len(warnings) == 1
    assert set(member.owned()) == {T0}


def test_an_unsupported_filter_of_another_member_fails_the_join() -> None:
    """Guessing would mean endless conflicts; the error names the expression."""
    group = Group()
    group.admin.create(
        "/consumers/g/ids/g_x",
        b'{"version":1,"subscription":{"[a&&b":1},"pattern":"white_list","timestamp":"1"}',
        ephemeral=True,
    )
    member = group.member("a", max_retries=1)
    request = member.join({"t": 1})
    group.settle()
    group.pass_time(BACKOFF_MS)
    with pytest.raises(RebalanceFailed, match=r"\[a&&b"):
        request.reply.wait(0)
    assert group.ids() == ["g_x"]


def test_an_unsupported_filter_of_another_member_stops_no_running_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A member that joined before goes on without the other, and takes over what others leave."""
    group = Group()
    first, second = group.joined("a"), group.joined("b")
    with caplog.at_level(logging.WARNING):
        group.admin.create(
            "/consumers/g/ids/g_x",
            b'{"version":1,"subscription":{"(t)\\\\1":1},"pattern":"white_list","timestamp":"1"}',
            ephemeral=True,
        )
        group.settle()
        second.close()
        group.settle()
    assert set(first.owned()) == {T0, T1}
    warnings = [line for line in caplog.messages if line.startswith("g_a:")]
    assert len(warnings) == 1
    assert "/consumers/g/ids/g_x" in warnings[0]
    assert "is not supported" in warnings[0]


@pytest.mark.parametrize(
    ("regex", "owned", "message"),
    [
        (r"(\w+)+!", [T0, T1], None),
        ("(((.{200}){200}){200})", [T0, T1], "too large"),
        (")", [T0, T1], "unmatched )"),
        ("x" * 100_001, [T0, T1], "longer than"),
        (r"(\w+)+", [T0], None),
    ],
    ids=["exponential", "large", "invalid", "long", "everything"],
)
def test_a_hostile_filter_costs_its_own_member_alone(
    regex: str, owned: list[TopicPartition], message: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A filter that can be evaluated in time counts; otherwise its member is left out."""
    group = Group()
    group.write("/brokers/topics/" + "w" * 35, b"{}")
    group.admin.create(
        "/consumers/g/ids/g_x",
        b'{"version":1,"subscription":{"%s":1},"pattern":"white_list","timestamp":"1"}'
        % regex.encode(),
        ephemeral=True,
    )
    with caplog.at_level(logging.WARNING):
        member = group.joined("a", max_retries=1)
    assert sorted(member.owned()) == owned
    lines = [line for line in caplog.messages if "/consumers/g/ids/g_x" in line]
    assert len(lines) == (message is not None)
    assert all(str(message) in line and len(line) < 500 for line in lines)


def test_hostile_filters_share_one_budget(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is per reading; filters for which nothing is left cost their own members, too."""
    monkeypatch.setattr(group_reader, "FilterBudget", partial(FilterBudget, 1))
    group = Group()
    group.write("/brokers/topics/" + "w" * 200, b"{}")
    data = b'{"version":1,"subscription":{"%s":1},"pattern":"white_list","timestamp":"1"}'
    for number in range(3):
        regex = b"(?=.*w)" * 3_000 + b".{%d}" % number
        group.admin.create(f"/consumers/g/ids/g_{number}", data % regex, ephemeral=True)
    with caplog.at_level(logging.WARNING):
        member = group.joined("a")
        group.joined("b")
    assert len(member.owned()) == 1
    reasons = {
        line[line.index("/consumers/g/ids/") :][:20]: "beside the other filters" in line
        for line in caplog.messages
        if "too many steps" in line
    }
    assert reasons == {f"/consumers/g/ids/g_{number}": number > 0 for number in range(3)}


def test_an_own_filter_over_the_budget_fails_the_join() -> None:
    """Otherwise our own member would be left out, and our registration reported as gone."""
    group = Group()
    group.write("/brokers/topics/" + "a" * 200, b"{}")
    member = group.member("a", max_retries=1)
    request = member.join(Whitelist("(?=.*a)" * 3000 + ".*"))
    group.settle()
    group.pass_time(BACKOFF_MS)
    with pytest.raises(RebalanceFailed, match="too many steps"):
        request.reply.wait(0)


# --- handing over --------------------------------------------------------------------------------


def test_a_second_member_takes_over_where_the_first_stopped() -> None:
    """Its offsets are committed before the hand-over; no message is lost or repeated."""
    group = Group()
    first = group.joined("a")
    first.deliver(T0, [0, 1])
    first.deliver(T1, [0, 1, 2])
    assert consume_all(first.stream()) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)]
    second = group.joined("b")
    assert group.owners() == {0: "g_a-0", 1: "g_b-0"}
    assert second.starts() == {T1: 3}
    assert group.offset(1) == "3"
    assert group.offset(0) is None
    assert set(first.owned()) == {T0}


def test_the_message_in_hand_comes_again_with_its_next_owner() -> None:
    """It is not consumed, as the caller has not requested the next one."""
    group = Group()
    first = group.joined("a")
    first.deliver(T1, [0, 1, 2])
    assert first.consume(2) == [(1, 0), (1, 1)]
    second = group.joined("b")
    assert second.starts() == {T1: 1}
    assert consume_all(first.stream()) == []


def test_a_partition_that_stays_is_read_on_undisturbed() -> None:
    """Its claim, queue and position survive the rebalance."""
    group = Group()
    first = group.joined("a")
    first.deliver(T0, [0, 1, 2])
    claim = first.owned()[T0]
    assert first.consume(1) == [(0, 0)]
    group.joined("b")
    assert first.owned()[T0] is claim
    assert consume_all(first.stream()) == [(0, 1), (0, 2)]


def test_queued_messages_of_a_revoked_partition_are_not_delivered() -> None:
    """The next owner delivers them."""
    group = Group()
    first = group.joined("a")
    first.deliver(T1, [0, 1])
    second = group.joined("b")
    assert consume_all(first.stream()) == []
    assert second.starts() == {T1: 0}


def test_a_member_that_leaves_is_replaced_at_its_offsets() -> None:
    """Its consumed offsets are committed, its nodes deleted, and the other member takes all."""
    group = Group()
    first, second = group.joined("a"), group.joined("b")
    second.deliver(T1, [0, 1])
    assert consume_all(second.stream()) == [(1, 0), (1, 1)]
    second.close()
    group.settle()
    assert group.ids() == ["g_a"]
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert first.starts()[T1] == 2


def test_a_member_that_dies_is_replaced_when_its_session_ends() -> None:
    """It committed nothing, so its messages come again."""
    group = Group()
    first, second = group.joined("a"), group.joined("b")
    group.members.remove(second)
    second.store.close()
    group.settle()
    assert group.owners() == {0: "g_a-0", 1: "g_a-0"}
    assert set(first.owned()) == {T0, T1}


def test_a_start_that_the_reset_policy_found_is_handed_over() -> None:
    """Nothing was read, but the next owner starts there, and not at the end by then."""
    group = Group()
    first = group.joined("a")
    first.owned()[T1].consumed_offset = 100
    second = group.joined("b")
    assert second.starts() == {T1: 100}


def test_many_owners_that_leave_at_once_cost_one_more_round() -> None:
    """However many watches fire, the group is read again once for all of them."""
    group = Group(partitions=60)
    owners = {f"/consumers/g/owners/t/{p}": b"g_x-0" for p in range(60)}
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    for path, text in owners.items():
        group.admin.create(path, text, ephemeral=True)
    member = group.member("a")
    member.join({"t": 1})
    group.settle()
    assert member.owned() == {}
    before = member.core._round
    group.admin.delete_many(list(owners))
    group.settle()
    assert len(member.owned()) == 60
    assert member.core._round - before <= 2


def test_many_topics_that_change_at_once_cost_one_round() -> None:
    """A watch fires for each; other messages among them are not lost."""
    group = Group()
    topics = [f"t{number}" for number in range(6)]
    for topic in topics:
        group.set_topic(topic, 1)
    member = group.joined("a", dict.fromkeys(topics, 1))
    before = member.core._round
    for topic in topics[:4]:
        group.set_topic(topic, 2)
    commit = member.commit()
    for topic in topics[4:]:
        group.set_topic(topic, 2)
    assert len(member.control.mailbox._items) == 7
    group.settle()
    assert member.core._round == before + 1
    assert len(member.owned()) == 12
    assert commit.reply.wait(0) == (0, True)


def test_the_same_change_seen_many_times_costs_one_round() -> None:
    """A change of another kind in between costs its own round."""
    group = Group()
    member = group.joined("a")
    before = member.core._round
    causes = (RebalanceCause.MEMBERS, *[RebalanceCause.TOPICS] * 3, RebalanceCause.MEMBERS)
    for cause in causes:
        member.control.mailbox.put(RebalanceTriggered(cause))
    group.settle()
    assert member.core._round == before + 2


def test_watches_do_not_pile_up() -> None:
    """After many rounds, a change is still reported once."""
    group = Group()
    first = group.joined("a")
    for number in range(10):
        other = group.joined(f"b{number}", {})
        other.close()
        group.settle()
    before = first.core._round
    group.fire_watch("/brokers/topics/t")
    assert len(first.control.mailbox._items) == 1
    group.settle()
    assert first.core._round == before + 1
