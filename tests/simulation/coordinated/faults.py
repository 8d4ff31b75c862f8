"""Planted faults: small mutations of the membership core, such as mistakes might cause."""

from collections.abc import Mapping
from typing import Any

from tests.simulation.product import Swap
from zkconsumer.assignment.coordinated import cooperative, sticky
from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.membership.coordinator.core import error_table
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.error_table import TABLE, Handling, MembershipRequest
from zkconsumer.membership.coordinator.core.heartbeat import Heartbeat
from zkconsumer.membership.coordinator.core.identity import MemberIdentity
from zkconsumer.membership.coordinator.core.membership import MembershipCore
from zkconsumer.membership.coordinator.core.ownership import Ownership
from zkconsumer.membership.coordinator.core.steps import PendingStep, Steps
from zkconsumer.membership.protocol import Partitions, RevocationKind


def _at_once(_: CoordinatedView, target: Shares) -> Shares:
    """Skip the first phase of the cooperative assignment."""
    return target


def _only_rightful(view: CoordinatedView, target: Shares) -> Shares:
    """Count only the claims of the latest generation."""
    latest = max(member.generation for member in view.members.values())
    owners = {
        tp: name
        for tp, name in sticky.rightful_owners(view).items()
        if view.members[name].generation == latest
    }
    return {
        name: tuple(tp for tp in share if owners.get(tp, name) == name)
        for name, share in target.items()
    }


_join = MemberIdentity.join


def _hidden_claim(
    self: MemberIdentity,
    round_: int,
    topics: frozenset[str],
    ownership: Ownership,
    cause: ev.JoinReason,
) -> ev.SendJoin:
    """Keep reading partitions that the join does not name."""
    return _join(self, round_, topics, Ownership(ownership._mode), cause)


_given_up = Ownership.given_up


def _forgets_to_join(self: Ownership) -> bool:
    """Do not rejoin after a revocation, so that its partitions stay unowned."""
    _given_up(self)
    return False


def _keeps_void(self: Ownership) -> bool:
    """Keep partitions after being expelled, and claim them in the next generation."""
    self._offer = None
    self._revoked_for_share = False
    return False


def _trusts_answers(self: Heartbeat, now_ms: int, *, rebalancing: bool = False) -> None:
    """Extend the session from the response's time instead of the request's."""
    self.in_flight = False
    self._last_response_ms = now_ms
    self._rebalancing = rebalancing
    self.on_confirmed(now_ms + 300)


def _takes_first(self: Ownership) -> tuple[Partitions, RevocationKind] | None:
    """Take new partitions without revoking those that others get next."""
    if self._lost:
        return self.give_up(self.owned), RevocationKind.LOST
    return None


def _never_expires(self: Heartbeat, now_ms: int) -> bool:
    """Keep a caller that does not poll in the group."""
    del self, now_ms
    return False


def _ignores_topics(self: MembershipCore, request: ev.CallerEvent) -> None:
    """Ignore new partitions."""
    if not isinstance(request, ev.RejoinTriggered):
        _on_caller_event(self, request)


_on_caller_event = MembershipCore._on_caller_event


def _same_round(self: Steps, step: PendingStep, now_ms: int) -> int:
    """Reuse round numbers, so that a late response is taken for the current one."""
    assert self.open is None
    self.open = step
    self.begun_ms = now_ms
    return self.round


def _same_round_dropped(self: Steps) -> None:
    self.open = None


def _with(
    changes: Mapping[Handling, Handling],
) -> Mapping[MembershipRequest, Mapping[int, Handling]]:
    """Return the error table with some handlings replaced."""
    return {
        request: {code: changes.get(how, how) for code, how in row.items()}
        for request, row in TABLE.items()
    }


def _swap(place: Any, name: str, replacement: object) -> tuple[Swap, ...]:
    return (Swap(place, name, replacement),)


FAULTS: Mapping[str, tuple[Swap, ...]] = {
    "hands over at once": _swap(cooperative, "withhold", _at_once),
    "passes over old claims": _swap(cooperative, "withhold", _only_rightful),
    "hides its claim": _swap(MemberIdentity, "join", _hidden_claim),
    "forgets to join again": _swap(Ownership, "given_up", _forgets_to_join),
    "keeps what is void": _swap(Ownership, "void", _keeps_void),
    "trusts too long": _swap(Heartbeat, "on_response", _trusts_answers),
    "takes before it gives": _swap(Ownership, "give_up_for_share", _takes_first),
    "stays without polls": _swap(Heartbeat, "is_poll_expired", _never_expires),
    "deaf to new partitions": _swap(MembershipCore, "_on_caller_event", _ignores_topics),
    "takes late answers": (
        Swap(Steps, "begin", _same_round),
        Swap(Steps, "drop", _same_round_dropped),
    ),
    "asks who is none any more": _swap(
        error_table, "TABLE", _with({Handling.RELOCATE: Handling.RETRY})
    ),
    "shrugs off void generations": _swap(
        error_table,
        "TABLE",
        _with({Handling.RESET_GENERATION: Handling.OK, Handling.RESET_MEMBER: Handling.OK}),
    ),
    "ignores rebalances": _swap(error_table, "TABLE", _with({Handling.REJOIN: Handling.OK})),
}
COOPERATIVE = {"passes over old claims"}
"""Rare faults that only cooperative groups can have: their worlds have no other groups."""
