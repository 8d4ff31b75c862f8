"""A member's identity in its group, and the requests that carry it."""

from dataclasses import dataclass

from zkconsumer.assignment.coordinated.strategy import Shares
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.ownership import Ownership


@dataclass(slots=True)
class MemberIdentity:
    """The fields by which the coordinator fences a member; without a generation it is not a member.

    Attributes:
        member_id: given by the coordinator; empty before that, and after it has forgotten the
            member.
        generation: the generation of the last JoinGroup; -1: void.
        protocol: the strategy of that generation.
        leading: whether the member leads that generation, and assigns.
    """

    member_id: str = ""
    generation: int = -1
    protocol: str = ""
    leading: bool = False

    def enter(self, response: ev.JoinCompleted) -> None:
        """Adopt the identity of a completed join."""
        self.member_id, self.generation = response.member_id, response.generation
        self.protocol, self.leading = response.protocol, response.leader_id == response.member_id

    def void(self, *, forget_member: bool) -> None:
        """Leave the generation."""
        self.generation = -1
        self.protocol = ""
        self.leading = False
        if forget_member:
            self.member_id = ""

    def is_sender_of(self, response: ev.HeartbeatCompleted | ev.CommitCompleted) -> bool:
        """Return whether this is the response to a request of the current identity."""
        return (response.member_id, response.generation) == (self.member_id, self.generation)

    def heartbeat(self) -> ev.SendHeartbeat:
        """Build the heartbeat."""
        return ev.SendHeartbeat(self.member_id, self.generation)

    def join(
        self, round_: int, topics: frozenset[str], ownership: Ownership, cause: ev.JoinReason
    ) -> ev.SendJoin:
        """Build the JoinGroup step; the next generation's leader is not known yet."""
        self.leading = False
        return ev.SendJoin(
            round=round_,
            member_id=self.member_id,
            topics=topics,
            owned=ownership.owned,
            remembered=ownership.remembered,
            generation=ownership.generation,
            cause=cause,
        )

    def sync(self, round_: int, shares: Shares) -> ev.SendSync:
        """Build the SyncGroup step."""
        return ev.SendSync(
            round=round_,
            member_id=self.member_id,
            generation=self.generation,
            protocol=self.protocol,
            shares=shares,
        )
