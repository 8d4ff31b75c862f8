"""Which partitions a member owns and revokes."""

import pytest

from tests.support.group_members import tps
from zkconsumer.assignment.coordinated.strategy import RebalanceMode
from zkconsumer.membership.coordinator.core.ownership import Ownership
from zkconsumer.membership.protocol import RevocationKind

HELD = tps("t", 0, 1)


@pytest.fixture
def ownership() -> Ownership:
    """A member with two partitions, taken over in generation 3."""
    held = Ownership(RebalanceMode.COOPERATIVE)
    held.offered(HELD, 3)
    assert held.take_over() == HELD
    return held


def test_a_new_member_owns_nothing() -> None:
    """Its first join has no generation and no owned partitions."""
    fresh = Ownership(RebalanceMode.COOPERATIVE)
    assert (fresh.owned, fresh.remembered, fresh.generation) == (frozenset(), frozenset(), -1)
    assert (fresh.deliverable, fresh.to_notify) == (frozenset(), False)
    assert (fresh.void(), fresh.leave()) == (False, None)


def test_revoked_partitions_are_remembered_but_no_longer_owned(ownership: Ownership) -> None:
    """Sticky strategies keep partitions where they were."""
    ownership.give_up(HELD)
    assert (ownership.owned, ownership.deliverable) == (HELD, frozenset())
    assert not ownership.given_up()
    assert (ownership.owned, ownership.remembered, ownership.generation) == (frozenset(), HELD, 3)


def test_the_group_waits_for_partitions_that_an_assignment_takes_away(ownership: Ownership) -> None:
    """It waits only for that: revoking more later, for another reason, need not be reported."""
    ownership.offered(tps("t", 0), 4)
    assert ownership.to_notify
    assert ownership.give_up_for_share() == (tps("t", 1), RevocationKind.REVOKED)
    assert ownership.deliverable == tps("t", 0)
    assert ownership.given_up()
    assert ownership.give_up_for_share() is None
    assert ownership.take_over() == frozenset()
    ownership.give_up(tps("t", 0))
    assert not ownership.given_up()


def test_the_group_does_not_wait_for_a_void_generation(ownership: Ownership) -> None:
    """The generation ended while the listener was called."""
    ownership.offered(tps("t", 0), 4)
    ownership.give_up_for_share()
    assert ownership.void()
    assert not ownership.given_up()


def test_a_loss_is_reported_before_the_next_assignment(ownership: Ownership) -> None:
    """Its records are not delivered meanwhile; a second loss is not reported."""
    assert ownership.void()
    assert (ownership.deliverable, ownership.to_notify) == (frozenset(), True)
    assert not ownership.void()
    ownership.offered(HELD, 4)
    assert ownership.give_up_for_share() == (HELD, RevocationKind.LOST)
    assert not ownership.given_up()
    assert ownership.give_up_for_share() is None
    assert ownership.take_over() == HELD
    assert ownership.deliverable == HELD


def test_a_loss_is_reported_until_all_partitions_are(ownership: Ownership) -> None:
    """The generation ended while the listener was called for one of the partitions."""
    ownership.give_up(tps("t", 0))
    assert ownership.void()
    assert not ownership.given_up()
    assert (ownership.deliverable, ownership.to_notify) == (frozenset(), True)
    assert ownership.give_up_for_share() == (tps("t", 1), RevocationKind.LOST)
    ownership.given_up()
    assert not ownership.to_notify


@pytest.mark.parametrize("lost", [False, True])
def test_leaving_revokes_the_partitions_that_the_listener_still_has(
    ownership: Ownership, lost: bool
) -> None:
    """As lost, if it is; what the listener is being told already is not reported twice."""
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


def test_an_eager_member_revokes_everything_before_a_join() -> None:
    """A cooperative member revokes only what it no longer reads."""
    for mode, expected in ((RebalanceMode.EAGER, HELD), (RebalanceMode.COOPERATIVE, frozenset())):
        held = Ownership(mode)
        held.offered(HELD, 3)
        held.take_over()
        assert held.before_join(frozenset({"t"})) == expected
        assert held.before_join(frozenset({"u"})) == HELD
