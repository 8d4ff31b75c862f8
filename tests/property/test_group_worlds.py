"""Groups of membership cores in random worlds: nothing is read twice; in the end all is read."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.group_world import GroupWorld
from zkconsumer.assignment.coordinated import cooperative, sticky
from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.group import events as ev
from zkconsumer.group.heartbeat import Heartbeat
from zkconsumer.group.identity import Identity
from zkconsumer.group.ownership import Ownership, Partitions

STRATEGIES = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
)


def run_world(seed: int, strategies: tuple[str, ...], *, static: bool, turns: int = 600) -> None:
    """So many turns, and then rest."""
    world = GroupWorld(seed, strategies, static=static)
    for _ in range(3):
        world.start()
    for _ in range(turns):
        world.turn()
    world.settle()


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(STRATEGIES), st.booleans())
def test_every_world_is_safe_and_comes_to_rest(
    seed: int, strategies: tuple[str, ...], static: bool
) -> None:
    """No partition is read twice at any turn, and after the last accident all of them are."""
    run_world(seed, strategies, static=static)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_long_cooperative_worlds(seed: int) -> None:
    """After many accidents as after few."""
    run_world(seed, ("cooperative-sticky",), static=False, turns=3000)


# --- faults that a simulation worth its name must see --------------------------------------------


def _assert_seen() -> None:
    for seed in range(400):
        try:
            run_world(seed, ("cooperative-sticky",), static=False)
        except AssertionError:
            return
    pytest.fail("400 worlds did not see the fault")


def test_it_sees_a_leader_that_hands_over_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The assignment without its first phase."""

    def at_once(_: CoordinatedView, target: Shares) -> Shares:
        return target

    monkeypatch.setattr(cooperative, "withhold", at_once)
    _assert_seen()


def test_it_sees_a_leader_that_passes_over_old_claims(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the rightful owners' claims count."""

    def rightful(view: CoordinatedView, target: Shares) -> Shares:
        latest = max(one.generation for one in view.members.values())
        owners = {
            tp: name
            for tp, name in sticky.rightful_owners(view).items()
            if view.members[name].generation == latest
        }
        return {
            name: tuple(tp for tp in share if owners.get(tp, name) == name)
            for name, share in target.items()
        }

    monkeypatch.setattr(cooperative, "withhold", rightful)
    _assert_seen()


def test_it_sees_a_member_that_hides_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads on what its join does not name."""
    join = Identity.join

    def without(
        self: Identity,
        round_: int,
        topics: frozenset[str],
        ownership: Ownership,
        cause: ev.Cause,
    ) -> ev.SendJoin:
        clean = Ownership(ownership._mode)
        return join(self, round_, topics, clean, cause)

    monkeypatch.setattr(Identity, "join", without)
    _assert_seen()


def test_it_sees_a_member_that_forgets_to_join_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it gave up stays nobody's."""
    given_up = Ownership.given_up

    def forgetful(self: Ownership) -> bool:
        given_up(self)
        return False

    monkeypatch.setattr(Ownership, "given_up", forgetful)
    _assert_seen()


def test_it_sees_a_member_that_keeps_what_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thrown out, it goes on and claims it in its next generation."""

    def keeps(self: Ownership) -> bool:
        self._offer = None
        self._revoked_for_share = False
        return False

    monkeypatch.setattr(Ownership, "void", keeps)
    _assert_seen()


def test_it_sees_trust_that_lasts_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted from the answer instead of the request."""

    def answered(self: Heartbeat, now_ms: int, *, rebalancing: bool = False) -> None:
        self.in_flight = False
        self._heard_ms = now_ms
        self._rebalancing = rebalancing
        self.confirmed(now_ms + 300)

    monkeypatch.setattr(Heartbeat, "answered", answered)
    _assert_seen()


def test_it_sees_a_share_taken_over_before_the_rest_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It would read on what others get next."""

    def nothing(self: Ownership) -> tuple[Partitions, ev.Why] | None:
        if self._lost:
            return self._give(self.owned), ev.Why.LOST
        return None

    monkeypatch.setattr(Ownership, "give_up_for_share", nothing)
    _assert_seen()
