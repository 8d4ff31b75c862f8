"""A member's moves, one event at a time: what it does, and what it must not."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from zkconsumer.group import events as ev
from zkconsumer.group.membership import MembershipCore
from zkconsumer.group.states import GroupSettings, State
from zkconsumer.model import TopicPartition
from zkconsumer.wire.error_codes import ErrorCode as E

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
TOPICS = frozenset({"a", "b"})
Parts = frozenset[TopicPartition]


@dataclass
class Member:
    """A core, and the answers that a good-natured world gives it."""

    settings: GroupSettings = field(
        default_factory=lambda: GroupSettings(strategies=("cooperative-sticky",))
    )
    now_ms: int = 0
    said: list[ev.Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.core = MembershipCore(self.settings, lambda: 0.0)

    def tell(self, event: ev.Event) -> list[ev.Action]:
        self.said = list(self.core.receive(event, self.now_ms))
        return self.said

    def later(self, ms: int) -> list[ev.Action]:
        self.now_ms += ms
        return self.tell(ev.Tick())

    def poll(self) -> list[ev.Action]:
        return self.tell(ev.Polled())

    def subscribe(self) -> ev.SendJoin:
        self.tell(ev.Subscribed(TOPICS))
        (search,) = self.poll()
        assert isinstance(search, ev.FindCoordinator)
        (join,) = self.tell(ev.CoordinatorFound(search.round))
        assert isinstance(join, ev.SendJoin)
        return join

    def joined(self, join: ev.SendJoin, generation: int = 1) -> ev.SendSync:
        answer = ev.JoinAnswered(
            round=join.round,
            code=0,
            member_id="me",
            generation=generation,
            protocol=self.settings.strategies[0],
            leader_id="other",
        )
        (sync,) = self.tell(answer)
        assert isinstance(sync, ev.SendSync)
        return sync

    def take(self, share: Parts, generation: int = 1, join: ev.SendJoin | None = None) -> None:
        sync = self.joined(join or self.subscribe(), generation)
        assert self.tell(ev.SyncAnswered(sync.round, 0, share)) == []
        while self.poll():
            (callback,) = self.said
            assert isinstance(callback, ev.GiveUp | ev.TakeOver)
            while self.tell(ev.CallbackDone(callback.round)):
                (callback,) = self.said
                if not isinstance(callback, ev.GiveUp | ev.TakeOver):
                    return

    def beat(self, code: int) -> list[ev.Action]:
        self.now_ms += self.settings.heartbeat_interval_ms
        beat = self.tell(ev.Tick())[-1]
        assert isinstance(beat, ev.SendHeartbeat)
        return self.tell(ev.HeartbeatAnswered(beat.member_id, beat.generation, code))


def eager() -> Member:
    """One that gives up everything first."""
    return Member(GroupSettings(strategies=("range",)))


def parts(*partitions: TopicPartition) -> Parts:
    """A set of them."""
    return frozenset(partitions)


def of_kind(actions: list[ev.Action], kind: type[ev.Action]) -> list[ev.Action]:
    """The actions of one kind."""
    return [one for one in actions if isinstance(one, kind)]


def test_nothing_happens_before_the_first_poll() -> None:
    """Subscribing asks nobody; the first poll looks for the coordinator, and then joins."""
    member = Member()
    assert member.tell(ev.Subscribed(TOPICS)) == []
    assert member.core.next_deadline_ms() is None
    assert member.poll() == [ev.FindCoordinator(1)]
    (join,) = member.tell(ev.CoordinatorFound(1))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.topics, join.cause) == ("", TOPICS, ev.Cause.JOINED)
    assert member.core.state is State.PREPARING


def test_a_share_is_taken_over_in_a_poll_only() -> None:
    """SyncGroup's answer makes the member stable, but its partitions wait for the caller."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.core.state is State.COMPLETING
    assert member.tell(ev.SyncAnswered(sync.round, 0, parts(A0))) == []
    assert (member.core.state, member.core.owned) == (State.STABLE, frozenset())
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, member.core.owned) == (parts(A0), parts(A0))


def test_the_leader_assigns_for_all() -> None:
    """A leader gets the members, and sends everybody's share."""
    member = Member()
    join = member.subscribe()
    members = (ev.JoinedMember("me", TOPICS), ev.JoinedMember("other", TOPICS))
    answer = ev.JoinAnswered(
        round=join.round,
        code=0,
        member_id="me",
        generation=4,
        protocol="cooperative-sticky",
        leader_id="me",
        members=members,
    )
    (assign,) = member.tell(answer)
    assert isinstance(assign, ev.Assign)
    assert assign.members == members
    shares = {"me": (A0,), "other": (A1,)}
    (sync,) = member.tell(ev.AssignmentMade(assign.round, shares))
    assert isinstance(sync, ev.SendSync)
    assert (sync.generation, sync.protocol, sync.shares) == (4, "cooperative-sticky", shares)
    assert member.core.identity.leading
    member.tell(ev.SyncAnswered(sync.round, E.REBALANCE_IN_PROGRESS))
    assert member.core.state is State.PREPARING
    assert not member.core.identity.leading


def test_a_static_leader_that_came_back_does_not_assign() -> None:
    """KIP-814: it leads, but sends no shares."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    join = member.subscribe()
    answer = ev.JoinAnswered(
        round=join.round,
        code=0,
        member_id="me",
        generation=4,
        protocol="range",
        leader_id="me",
        skip_assignment=True,
    )
    (sync,) = member.tell(answer)
    assert isinstance(sync, ev.SendSync)
    assert not sync.shares
    assert member.core.identity.leading


def test_an_eager_member_gives_up_all_before_it_joins_and_in_a_poll() -> None:
    """Heard of a rebalance between polls, it waits for the next one, beating on."""
    member = eager()
    member.take(parts(A0, B0))
    assert member.beat(E.REBALANCE_IN_PROGRESS) == []
    (given,) = member.poll()
    assert isinstance(given, ev.GiveUp)
    assert (given.partitions, given.why) == (parts(A0, B0), ev.Why.REVOKED)
    assert member.core.owned == frozenset()
    (join,) = member.tell(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.remembered, join.generation) == (frozenset(), parts(A0, B0), 1)
    assert join.member_id == "me"


def test_a_cooperative_member_joins_again_while_the_caller_works() -> None:
    """Nothing need be given up, so no poll is waited for; what it has it reads on."""
    member = Member()
    member.take(parts(A0, B0))
    (join,) = member.beat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.generation) == (parts(A0, B0), 1)
    assert member.core.owned == parts(A0, B0)


def test_what_a_cooperative_share_lacks_is_given_up_and_the_group_joined_again() -> None:
    """KIP-429's two phases: out first, told by a second join that no longer claims it."""
    member = Member()
    member.take(parts(A0, A1))
    (join,) = member.beat(E.REBALANCE_IN_PROGRESS)
    assert isinstance(join, ev.SendJoin)
    sync = member.joined(join, 2)
    member.tell(ev.SyncAnswered(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == parts(A0, A1)
    (given,) = member.poll()
    assert isinstance(given, ev.GiveUp)
    assert (given.partitions, given.why) == (parts(A1), ev.Why.REVOKED)
    (taken,) = member.tell(ev.CallbackDone(given.round))
    assert isinstance(taken, ev.TakeOver)
    assert (taken.added, taken.owned) == (parts(B0), parts(A0, B0))
    (again,) = member.tell(ev.CallbackDone(taken.round))
    assert isinstance(again, ev.SendJoin)
    assert (again.owned, again.generation, again.cause) == (parts(A0, B0), 2, ev.Cause.REVOKED)


def test_what_is_no_longer_subscribed_goes_before_the_join() -> None:
    """A cooperative member keeps only what it still reads."""
    member = Member()
    member.take(parts(A0, B0))
    assert member.tell(ev.Subscribed(frozenset({"a"}))) == []
    (given,) = member.poll()
    assert isinstance(given, ev.GiveUp)
    assert given.partitions == parts(B0)
    (join,) = member.tell(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.owned, join.topics) == (parts(A0), frozenset({"a"}))


def test_a_share_of_an_older_subscription_is_not_taken_over() -> None:
    """The topics changed on the way: it joins again, and keeps its claim."""
    member = Member()
    join = member.subscribe()
    sync = member.joined(join)
    member.tell(ev.Subscribed(frozenset({"a"})))
    member.tell(ev.SyncAnswered(sync.round, 0, parts(A0, B0)))
    assert member.core.owned == frozenset()
    (again,) = member.later(1000)
    assert isinstance(again, ev.SendJoin)
    assert again.topics == {"a"}


def test_the_id_that_is_required_is_used_at_once() -> None:
    """KIP-394."""
    member = Member()
    join = member.subscribe()
    answer = ev.JoinAnswered(round=join.round, code=E.MEMBER_ID_REQUIRED, member_id="given")
    (again,) = member.tell(answer)
    assert isinstance(again, ev.SendJoin)
    assert again.member_id == "given"


def test_a_member_that_stops_polling_leaves_and_comes_back_and_says_so() -> None:
    """Its partitions are void at once; the next poll tells the listener, and joins as new."""
    member = eager()
    member.take(parts(A0))
    for _ in range(99):
        assert member.beat(0) == []
    said = member.later(member.settings.heartbeat_interval_ms)
    notice, leave, fence = said
    assert isinstance(notice, ev.Notice)
    assert "max.poll.interval.ms" in notice.text
    assert leave == ev.SendLeave("me", "consumer poll timeout has expired.")
    assert isinstance(fence, ev.Fence)
    assert (member.core.owned, member.core.state) == (frozenset(), State.UNJOINED)
    assert member.later(1_000_000) == []
    back, given = member.poll()
    assert isinstance(back, ev.Notice)
    assert isinstance(given, ev.GiveUp)
    assert (given.partitions, given.why) == (parts(A0), ev.Why.LOST)
    (join,) = member.tell(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.cause) == ("", ev.Cause.CAME_BACK)


def test_a_silent_member_that_had_nothing_waits_for_a_poll_too() -> None:
    """Nothing is there to tell the listener, and still nobody would read what it got."""
    member = eager()
    member.take(parts())
    assert of_kind(member.later(300_000), ev.SendLeave)
    assert member.later(1_000) == []
    notice, join = member.poll()
    assert isinstance(notice, ev.Notice)
    assert isinstance(join, ev.SendJoin)


def test_a_static_member_never_says_good_bye() -> None:
    """KIP-345: its partitions wait for it, for as long as a session lives."""
    member = Member(GroupSettings(strategies=("range",), instance_id="one"))
    member.take(parts(A0))
    assert of_kind(member.tell(ev.Leave()), ev.SendLeave) == []


def test_leaving_gives_up_what_is_ours_and_says_good_bye() -> None:
    """In this order, so that the commit comes before the good-bye."""
    member = Member()
    member.take(parts(A0))
    given, leave = member.tell(ev.Leave())
    assert isinstance(given, ev.GiveUp)
    assert given.why is ev.Why.REVOKED
    assert leave == ev.SendLeave("me", "the consumer is being closed")
    assert member.core.next_deadline_ms() is None


@pytest.mark.parametrize(
    ("code", "member_id"), [(E.ILLEGAL_GENERATION, "me"), (E.UNKNOWN_MEMBER_ID, "")]
)
def test_a_heartbeat_that_is_refused_voids_what_we_have(code: E, member_id: str) -> None:
    """An old generation keeps its member id; an unknown member doesn't."""
    member = Member()
    member.take(parts(A0))
    (fence,) = member.beat(code)
    assert isinstance(fence, ev.Fence)
    assert member.core.owned == frozenset()
    (given,) = member.poll()
    assert isinstance(given, ev.GiveUp)
    assert given.why is ev.Why.LOST
    (join,) = member.tell(ev.CallbackDone(given.round))
    assert isinstance(join, ev.SendJoin)
    assert (join.member_id, join.owned) == (member_id, frozenset())


def test_a_heartbeat_of_an_earlier_generation_is_not_the_one_in_flight() -> None:
    """The answers of two generations may cross."""
    member = Member()
    member.take(parts(A0), generation=2)
    member.later(3_000)
    assert member.tell(ev.HeartbeatAnswered("me", 1, E.UNKNOWN_MEMBER_ID)) == []
    assert member.core.owned == parts(A0)


def test_a_pattern_takes_topics_that_only_the_leader_knew() -> None:
    """The leader's metadata may be younger than ours."""
    member = Member()
    join = member.subscribe()
    member.tell(ev.Subscribed(TOPICS, open_ended=True))
    sync = member.joined(join)
    new = TopicPartition("new", 0)
    member.tell(ev.SyncAnswered(sync.round, 0, parts(new)))
    member.poll()
    assert member.core.owned == parts(new)


def test_a_late_refusal_of_an_earlier_identity_changes_nothing() -> None:
    """The commit was sent in the generation before."""
    member = Member()
    member.take(parts(A0))
    assert member.tell(ev.CommitAnswered("me", 0, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    (fence,) = member.tell(ev.CommitAnswered("me", 1, E.ILLEGAL_GENERATION))
    assert isinstance(fence, ev.Fence)


def test_an_old_generation_is_no_news_while_joining_the_next() -> None:
    """The join is through, and a heartbeat of before it came in after it."""
    member = Member()
    member.take(parts(A0))
    beat = member.later(3_000)[-1]
    assert isinstance(beat, ev.SendHeartbeat)
    (join,) = member.tell(ev.Triggered(ev.Cause.ASKED))
    assert isinstance(join, ev.SendJoin)
    assert member.tell(ev.HeartbeatAnswered("me", 1, E.ILLEGAL_GENERATION)) == []
    assert member.core.owned == parts(A0)
    member.joined(join, 2)


def test_a_fenced_member_stays_out_until_it_unsubscribes() -> None:
    """Joining again would throw the other one out, and so on for ever."""
    member = Member(GroupSettings(strategies=("cooperative-sticky",), instance_id="one"))
    member.take(parts(A0))
    fence, raised = member.beat(E.FENCED_INSTANCE_ID)
    assert isinstance(fence, ev.Fence)
    assert isinstance(raised, ev.Raise)
    assert raised.final
    assert "group.instance.id" in raised.text
    (given,) = member.poll()
    assert isinstance(given, ev.GiveUp)
    assert member.tell(ev.CallbackDone(given.round)) == []
    assert member.poll() == []
    member.tell(ev.Leave())
    member.tell(ev.Subscribed(TOPICS))
    assert of_kind(member.poll(), ev.SendJoin)


def test_a_fatal_refusal_is_raised_and_the_next_poll_tries_again() -> None:
    """Not before: the caller decides."""
    member = Member()
    join = member.subscribe()
    refused = ev.JoinAnswered(round=join.round, code=E.GROUP_AUTHORIZATION_FAILED)
    (raised,) = member.tell(refused)
    assert isinstance(raised, ev.Raise)
    assert (raised.code, raised.final) == (30, False)
    assert member.later(10_000) == []
    (again,) = member.poll()
    assert isinstance(again, ev.SendJoin)


@pytest.mark.parametrize("code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE])
def test_a_coordinator_that_moved_is_looked_for_and_nothing_is_lost(code: E) -> None:
    """A member that is stable goes on, and beats at once where the coordinator is now."""
    member = Member()
    member.take(parts(A0))
    forget, search = member.beat(code)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)
    assert (member.core.state, member.core.owned) == (State.STABLE, parts(A0))
    member.tell(ev.CoordinatorNotFound(search.round, E.COORDINATOR_NOT_AVAILABLE))
    (search,) = member.later(100)
    assert isinstance(search, ev.FindCoordinator)
    assert member.tell(ev.CoordinatorFound(search.round)) == [ev.SendHeartbeat("me", 1)]


def test_a_join_that_broke_is_sent_again_where_the_coordinator_is_now() -> None:
    """Under a new round: an answer to the old one is late."""
    member = Member()
    join = member.subscribe()
    (search,) = member.tell(ev.CoordinatorLost())
    assert isinstance(search, ev.FindCoordinator)
    member.tell(ev.CoordinatorFound(search.round))
    (again,) = member.later(100)
    assert isinstance(again, ev.SendJoin)
    assert again.round > join.round


def test_a_join_that_was_answered_too_late_leaves_no_ghost() -> None:
    """The coordinator has a member that nobody is: it would hold up the next rebalance."""
    member = Member()
    join = member.subscribe()
    member.tell(ev.Leave())
    late = ev.JoinAnswered(round=join.round, code=0, member_id="ghost", generation=1)
    assert member.tell(late) == [ev.SendLeave("ghost", "its join was given up")]


def test_silence_of_the_coordinator_makes_us_look_for_it() -> None:
    """A whole session without an answer."""
    member = Member()
    member.take(parts(A0))
    (beat,) = member.later(3_000)
    assert isinstance(beat, ev.SendHeartbeat)
    forget, search = member.later(42_000)
    assert isinstance(forget, ev.ForgetCoordinator)
    assert isinstance(search, ev.FindCoordinator)


def test_a_rebalance_heard_of_before_the_share_is_there_is_no_news() -> None:
    """While completing, the answer may be about the rebalance that we are in."""
    member = Member()
    sync = member.joined(member.subscribe())
    assert member.beat(E.REBALANCE_IN_PROGRESS) == []
    assert member.tell(ev.SyncAnswered(sync.round, 0, parts(A0))) == []
    (taken,) = member.poll()
    assert isinstance(taken, ev.TakeOver)
    assert member.tell(ev.CallbackDone(taken.round)) == []


def test_only_a_leader_joins_again_for_new_partitions() -> None:
    """The others' leader sees them as well."""
    member = Member()
    member.take(parts(A0))
    assert member.tell(ev.Triggered(ev.Cause.TOPICS)) == []
    assert of_kind(member.tell(ev.Triggered(ev.Cause.ASKED)), ev.SendJoin)


def test_a_protocol_that_is_not_ours_is_refused() -> None:
    """A broker would not choose it; taking part would mean two divisions."""
    member = Member()
    join = member.subscribe()
    answer = ev.JoinAnswered(round=join.round, code=0, member_id="me", protocol="other")
    (raised,) = member.tell(answer)
    assert isinstance(raised, ev.Raise)
    assert raised.code == E.INCONSISTENT_GROUP_PROTOCOL


def test_trust_ends_a_session_after_the_last_request_that_was_answered() -> None:
    """Counted from its sending, since the coordinator counts from its coming in."""
    member = Member()
    member.take(parts(A0))
    assert member.core.trusted_until_ms == 45_000
    member.later(3_000)
    assert member.core.trusted_until_ms == 45_000
    member.now_ms += 500
    member.tell(ev.HeartbeatAnswered("me", 1, 0))
    assert member.core.trusted_until_ms == 48_000


def test_trust_ends_with_the_time_that_a_rebalance_waits() -> None:
    """A late member is thrown out though it beats."""
    settings = GroupSettings(
        strategies=("range",), max_poll_interval_ms=10_000, session_timeout_ms=9_000
    )
    member = Member(settings)
    member.take(parts(A0))
    member.beat(0)
    member.beat(E.REBALANCE_IN_PROGRESS)
    member.beat(E.REBALANCE_IN_PROGRESS)
    assert member.core.trusted_until_ms == 3_000 + 10_000


def _unasked(member: Member) -> list[Callable[[], list[ev.Action]]]:
    return [
        lambda: member.tell(ev.CallbackDone(77)),
        lambda: member.tell(ev.AssignmentMade(77, {})),
        lambda: member.tell(ev.SyncAnswered(77, 0, parts(A0))),
        lambda: member.tell(ev.CoordinatorFound(77)),
        lambda: member.tell(ev.HeartbeatAnswered("me", 1, 25)),
    ]


@pytest.mark.parametrize("which", range(5))
def test_answers_to_nothing_change_nothing(which: int) -> None:
    """They belong to rounds that are over."""
    member = Member()
    member.take(parts(A0))
    assert _unasked(member)[which]() == []
    assert (member.core.state, member.core.owned) == (State.STABLE, parts(A0))
