"""What a member owns and gives up, set by set."""

import pytest

from tests.support.group_members import tps
from zkconsumer.assignment.coordinated.strategy import RebalanceMode
from zkconsumer.membership.coordinator.core.ownership import Ownership
from zkconsumer.membership.protocol import RevocationKind

HELD = tps("t", 0, 1)


@pytest.fixture
def ownership() -> Ownership:
    """Two partitions, taken over in generation 3."""
    held = Ownership(RebalanceMode.COOPERATIVE)
    held.offered(HELD, 3)
    assert held.take_over() == HELD
    return held


def test_a_member_begins_with_nothing() -> None:
    """And says so in its first join: no generation, no partitions."""
    fresh = Ownership(RebalanceMode.COOPERATIVE)
    assert (fresh.owned, fresh.remembered, fresh.generation) == (frozenset(), frozenset(), -1)
    assert (fresh.deliverable, fresh.to_notify) == (frozenset(), False)
    assert (fresh.void(), fresh.leave()) == (False, None)


def test_what_was_given_up_is_remembered_but_not_claimed(ownership: Ownership) -> None:
    """For strategies that keep partitions where they were."""
    ownership.give_up(HELD)
    assert (ownership.owned, ownership.deliverable) == (HELD, frozenset())
    assert not ownership.given_up()
    assert (ownership.owned, ownership.remembered, ownership.generation) == (frozenset(), HELD, 3)


def test_the_group_waits_for_what_a_share_takes_away(ownership: Ownership) -> None:
    """Once: what is given up afterwards, for another reason, it does not wait for."""
    ownership.offered(tps("t", 0), 4)
    assert ownership.to_notify
    assert ownership.give_up_for_share() == (tps("t", 1), RevocationKind.REVOKED)
    assert ownership.deliverable == tps("t", 0)
    assert ownership.given_up()
    assert ownership.give_up_for_share() is None
    assert ownership.take_over() == frozenset()
    ownership.give_up(tps("t", 0))
    assert not ownership.given_up()


def test_the_group_waits_for_nothing_of_a_generation_that_is_void(ownership: Ownership) -> None:
    """It ended while the listener gave up."""
    ownership.offered(tps("t", 0), 4)
    ownership.give_up_for_share()
    assert ownership.void()
    assert not ownership.given_up()


def test_what_is_lost_is_told_before_another_share(ownership: Ownership) -> None:
    """Nothing of it is delivered meanwhile; a second loss is no news."""
    assert ownership.void()
    assert (ownership.deliverable, ownership.to_notify) == (frozenset(), True)
    assert not ownership.void()
    ownership.offered(HELD, 4)
    assert ownership.give_up_for_share() == (HELD, RevocationKind.LOST)
    assert not ownership.given_up()
    assert ownership.give_up_for_share() is None
    assert ownership.take_over() == HELD
    assert ownership.deliverable == HELD


def test_a_loss_of_a_part_goes_on_until_all_of_it_is_told(ownership: Ownership) -> None:
    """The listener was giving one up when the generation ended."""
    ownership.give_up(tps("t", 0))
    assert ownership.void()
    assert not ownership.given_up()
    assert (ownership.deliverable, ownership.to_notify) == (frozenset(), True)
    assert ownership.give_up_for_share() == (tps("t", 1), RevocationKind.LOST)
    ownership.given_up()
    assert not ownership.to_notify


@pytest.mark.parametrize("lost", [False, True])
def test_who_leaves_gives_up_what_the_listener_still_has(ownership: Ownership, lost: bool) -> None:
    """As lost, where it is; what the listener gives up already it is not told again."""
    ownership.give_up(tps("t", 0))
    if lost:
        ownership.void()
    why = RevocationKind.LOST if lost else RevocationKind.REVOKED
    assert ownership.leave() == (tps("t", 1), why)
    assert ownership.leave() is None
    ownership.offered(HELD, 5)
    assert ownership.give_up_for_share() is None
    assert ownership.take_over() == HELD
    assert ownership.deliverable == HELD
    assert ownership.leave() == (HELD, RevocationKind.REVOKED)


def test_before_a_join_an_eager_member_gives_up_all() -> None:
    """A cooperative one what it no longer reads."""
    for mode, goes in ((RebalanceMode.EAGER, HELD), (RebalanceMode.COOPERATIVE, frozenset())):
        held = Ownership(mode)
        held.offered(HELD, 3)
        held.take_over()
        assert held.before_join(frozenset({"t"})) == goes
        assert held.before_join(frozenset({"u"})) == HELD
