"""The table of state transitions, by which tests judge a member, is complete."""

from tests.support.group_world import TRANSITIONS
from zkconsumer.membership.coordinator.core.states import MembershipState


def test_every_state_can_be_reached_and_left() -> None:
    """All states are reachable from UNJOINED, and none is final."""
    assert set(TRANSITIONS) == set(MembershipState)
    reached = {MembershipState.UNJOINED}
    while (
        more := {to for membership_state in reached for to in TRANSITIONS[membership_state]}
        - reached
    ):
        reached |= more
    assert reached == set(MembershipState)
    assert all(TRANSITIONS.values())


def test_every_state_can_become_unjoined() -> None:
    """A member may be removed, fenced or silent in any state."""
    for state in set(MembershipState) - {MembershipState.UNJOINED}:
        assert MembershipState.UNJOINED in TRANSITIONS[state]
