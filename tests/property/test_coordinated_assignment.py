"""All assignors of coordinator groups: complete, within subscriptions, even, sticky and safe."""

from collections.abc import Mapping
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shares import examples
from zkconsumer.assignment.coordinated import cooperative, sticky
from zkconsumer.assignment.coordinated.assignors import ASSIGNORS
from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.coordinated.view import CoordinatedView, MemberView
from zkconsumer.model import TopicPartition

TOPICS = "abcd"
NAMES = [f"m{number}" for number in range(6)]
Shares = Mapping[str, tuple[TopicPartition, ...]]


@st.composite
def views(draw: st.DrawFn, *, same_topics: bool = False) -> CoordinatedView:
    """Draw groups; claimed partitions may be of any generation, deleted, shared or unread."""
    partitions = {topic: tuple(range(draw(st.integers(0, 6)))) for topic in TOPICS}
    claimable = [TopicPartition(topic, number) for topic in TOPICS for number in range(7)]
    same = draw(st.frozensets(st.sampled_from(TOPICS)))
    members = {
        name: MemberView(
            topics=same if same_topics else draw(st.frozensets(st.sampled_from(TOPICS))),
            owned=draw(st.frozensets(st.sampled_from(claimable), max_size=8)),
            generation=draw(st.integers(-1, 3)),
            instance_id=draw(st.sampled_from([None, None, f"i{name}"])),
        )
        for name in draw(st.sets(st.sampled_from(NAMES), min_size=1))
    }
    return CoordinatedView(members, partitions)


def owned_by(view: CoordinatedView, shares: Shares) -> CoordinatedView:
    """Return the group one generation later, when all members own their assignments."""
    members = {
        name: MemberView(
            topics=member_view.topics,
            owned=frozenset(shares[name]),
            generation=9,
            instance_id=member_view.instance_id,
        )
        for name, member_view in view.members.items()
    }
    return CoordinatedView(members, view.partitions)


def assert_complete(view: CoordinatedView, shares: Shares) -> None:
    """Check that each partition is assigned once, to a member that subscribes to its topic."""
    dealt = [tp for share in shares.values() for tp in share]
    assert len(dealt) == len(set(dealt))
    assert set(dealt) == {tp for topic in view.readers() for tp in view.partitions_of(topic)}
    assert shares.keys() == view.members.keys()
    for name, share in shares.items():
        assert {tp.topic for tp in share} <= view.members[name].topics


def assert_even(view: CoordinatedView, shares: Shares) -> None:
    """Check that no partition could move to a member with two fewer (KIP-54)."""
    for full, empty in product(shares, repeat=2):
        if len(shares[full]) >= len(shares[empty]) + 2:
            could_go = {tp.topic for tp in shares[full]} & view.members[empty].topics
            assert not could_go, f"{full} could give {empty} of {could_go}"


@given(views(), st.sampled_from(sorted(ASSIGNORS)))
def test_every_partition_has_one_subscribed_owner(view: CoordinatedView, name: str) -> None:
    """It has whatever the members claim; with the cooperative assignor once nothing is claimed."""
    if STRATEGIES[name].cooperative:
        nothing = dict.fromkeys(view.members, ())
        view = owned_by(view, nothing)
    assert_complete(view, ASSIGNORS[name](view))


@settings(max_examples=examples(400))
@given(views())
def test_sticky_is_as_even_as_the_subscriptions_allow(view: CoordinatedView) -> None:
    """No member has two more partitions than another one that could take one of them."""
    assert_even(view, sticky.assign(view))


@given(views())
def test_sticky_keeps_a_stable_assignment(view: CoordinatedView) -> None:
    """Both sticky assignors repeat it if nothing has changed."""
    shares = sticky.assign(view)
    later = owned_by(view, shares)
    assert sticky.assign(later) == shares
    assert cooperative.assign(later) == shares


@given(views(same_topics=True))
def test_sticky_keeps_as_much_as_an_even_assignment_allows(view: CoordinatedView) -> None:
    """With equal subscriptions the maximum is known: each member keeps up to its even share."""
    shares = sticky.assign(view)
    had: dict[str, int] = dict.fromkeys(view.members, 0)
    for owner in sticky.rightful_owners(view).values():
        had[owner] += 1
    low, rest = divmod(sum(len(share) for share in shares.values()), len(shares))
    most = sum(min(count, low) for count in had.values())
    most += min(rest, sum(count > low for count in had.values()))
    rightful = sticky.rightful_owners(view)
    kept = sum(rightful.get(tp) == name for name, share in shares.items() for tp in share)
    assert kept == most


@given(views(), st.data())
def test_a_leaving_member_moves_only_its_own_partitions(
    view: CoordinatedView, data: st.DataObject
) -> None:
    """With equal subscriptions the others keep all of theirs."""
    topics = frozenset(TOPICS)
    members = {name: MemberView(topics=topics) for name in view.members}
    shares = sticky.assign(CoordinatedView(members, view.partitions))
    gone = data.draw(st.sampled_from(sorted(members)))
    later = owned_by(CoordinatedView(members, view.partitions), shares)
    left = {name: member_view for name, member_view in later.members.items() if name != gone}
    for name, share in sticky.assign(CoordinatedView(left, view.partitions)).items():
        assert set(shares[name]) <= set(share)


@settings(max_examples=examples(300))
@given(views())
def test_cooperative_assigns_no_partition_that_another_member_claims(view: CoordinatedView) -> None:
    """It reaches the sticky assignment once all members have given up theirs."""
    shares: Shares = {}
    for _ in range(4):
        shares = cooperative.assign(view)
        for name, share in shares.items():
            for tp in set(share) - view.members[name].owned:
                assert not any(tp in member.owned for member in view.members.values())
        view = owned_by(view, shares)
    assert_complete(view, shares)
    assert_even(view, shares)
