"""The table of states is whole, and the core keeps to it."""

from zkconsumer.membership.coordinator.core.states import TRANSITIONS, MembershipState


def test_every_state_has_a_way_out_and_can_be_reached() -> None:
    """From UNJOINED to STABLE and back."""
    assert set(TRANSITIONS) == set(MembershipState)
    reached = {MembershipState.UNJOINED}
    while (
        more := {to for membership_state in reached for to in TRANSITIONS[membership_state]}
        - reached
    ):
        reached |= more
    assert reached == set(MembershipState)
    assert all(TRANSITIONS.values())


def test_a_member_may_fall_out_of_every_state() -> None:
    """Thrown out, fenced or silent."""
    for state in set(MembershipState) - {MembershipState.UNJOINED}:
        assert MembershipState.UNJOINED in TRANSITIONS[state]
