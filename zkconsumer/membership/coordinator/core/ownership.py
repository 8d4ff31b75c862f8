"""Tracks the partitions that a member owns, was assigned, and must give up: sets, no protocol.

The life of a partition: *offered* by SyncGroup, *taken over* in the caller's poll, *given up* in
another, or *void* at once when the generation ends (then the listener is called with it as lost).
"""

from zkconsumer.assignment.coordinated.strategy import RebalanceMode
from zkconsumer.membership.protocol import Partitions, RevocationKind

_NONE: Partitions = frozenset()


class Ownership:
    """One member's partitions.

    Attributes:
        owned: taken over and not given up; claimed in the next join.
        remembered: the last assignment taken over, even after it was given up.
        generation: the generation of that assignment.
    """

    def __init__(self, mode: RebalanceMode) -> None:
        self._mode = mode
        self._offer: tuple[Partitions, int] | None = None
        self._giving: Partitions = _NONE
        self._lost = False
        self._revoked_for_share = False
        self.owned: Partitions = _NONE
        self.remembered: Partitions = _NONE
        self.generation = -1

    @property
    def deliverable(self) -> Partitions:
        """The partitions that may be delivered now."""
        if self._lost:
            return _NONE
        return self.owned - self._giving if self._giving else self.owned

    @property
    def to_notify(self) -> bool:
        """Whether the listener must be called: for a loss, or an assignment to take over."""
        return self._offer is not None or (self._lost and bool(self.owned))

    def offered(self, share: Partitions, generation: int) -> None:
        """Store the assignment of SyncGroup."""
        self._offer = share, generation

    def void(self) -> bool:
        """Lose all partitions, as the generation is over; return whether there were any."""
        self._offer = None
        self._revoked_for_share = False
        had = bool(self.deliverable)
        self._lost = bool(self.owned)
        return had

    def give_up_for_share(self) -> tuple[Partitions, RevocationKind] | None:
        """Return the partitions to give up before the offer is taken over: lost, or not offered."""
        if self._lost:
            return self.give_up(self.owned), RevocationKind.LOST
        assert self._offer is not None
        revoked = self.owned - self._offer[0]
        if not revoked:
            return None
        self._revoked_for_share = True
        return self.give_up(revoked), RevocationKind.REVOKED

    def before_join(self, topics: frozenset[str]) -> Partitions:
        """Return what to give up before a join: all, or (cooperative) unsubscribed partitions."""
        if self._mode is RebalanceMode.EAGER:
            return self.owned
        return frozenset(tp for tp in self.owned if tp.topic not in topics)

    def give_up(self, partitions: Partitions) -> Partitions:
        """Start giving up these partitions, and return them."""
        self._giving = partitions
        return partitions

    def given_up(self) -> bool:
        """Finish giving up; return whether the group waits for us to join again without them."""
        self.owned -= self._giving
        self._giving = _NONE
        self._lost = self._lost and bool(self.owned)
        awaited, self._revoked_for_share = self._revoked_for_share, False
        return awaited

    def take_over(self) -> Partitions:
        """Take over the offered assignment; return the new partitions."""
        assert self._offer is not None
        share, self.generation = self._offer
        self._offer = None
        added = share - self.owned
        self.owned = self.remembered = share
        return added

    def leave(self) -> tuple[Partitions, RevocationKind] | None:
        """Drop all partitions; return those for which the listener must be called, and the kind."""
        partitions, lost = self.owned - self._giving, self._lost
        self.owned = self._giving = _NONE
        self._offer = None
        self._lost = self._revoked_for_share = False
        if not partitions:
            return None
        return partitions, RevocationKind.LOST if lost else RevocationKind.REVOKED
