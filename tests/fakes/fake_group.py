"""A group coordinator without a network: requests in, responses out, time as an argument.

It does what a broker does for the members of one group: waits for all of them to join, removes
those that are late or silent, distributes the leader's assignment, and fences. Requests and
responses are the membership core's own values.

Source: Kafka ``GroupCoordinator``, ``GroupMetadata``.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from zkconsumer.assignment.coordinated.strategy import STRATEGIES
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.model import TopicPartition

GroupRequest = ev.SendJoin | ev.SendSync | ev.SendHeartbeat | ev.SendLeave
Addressed = tuple[str, ev.Event]
"""A connection, and the response that goes to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a member's JoinGroup contains besides its subscription and owned partitions."""

    session_timeout_ms: int
    rebalance_timeout_ms: int
    strategies: tuple[str, ...]
    instance_id: str | None = None


@dataclass(slots=True)
class _Member:
    terms: Terms
    join: ev.SendJoin
    expires_ms: int
    joining: str | None = None
    syncing: tuple[str, int] | None = None
    share: frozenset[TopicPartition] = frozenset()


@dataclass(slots=True)
class FakeGroupCoordinator:
    """One group.

    Attributes:
        member_id_required: whether new members must join twice (KIP-394, brokers of 2.2+).
        state: the group's state, with Kafka's names.
        generation: the latest generation.
        protocol: the assignment strategy of this generation.
        leader_id: the member that assigns.
        members: the members by id.
    """

    member_id_required: bool = True
    state: str = "Empty"
    generation: int = 0
    protocol: str = ""
    leader_id: str = ""
    members: dict[str, _Member] = field(default_factory=dict)
    _promised: set[str] = field(default_factory=set)
    _count: int = 0
    _deadline_ms: int = 0
    _saved: tuple[str, int, str, str, dict[str, _Member]] = ("Empty", 0, "", "", {})

    def receive(
        self, connection: str, request: GroupRequest, terms: Terms, now_ms: int
    ) -> list[Addressed]:
        """Handle a request; the responses may answer earlier requests of other members, too."""
        match request:
            case ev.SendJoin():
                return list(self._join(connection, request, terms, now_ms))
            case ev.SendSync():
                return list(self._sync(connection, request, now_ms))
            case ev.SendHeartbeat(member_id, generation):
                code = self._beat(member_id, generation, terms, now_ms)
                return [(connection, ev.HeartbeatCompleted(member_id, generation, code))]
            case ev.SendLeave(member_id, _):
                return list(self._remove([member_id], now_ms))

    def tick(self, now_ms: int) -> list[Addressed]:
        """Remove members whose session expired, or that did not rejoin in time."""
        late = [
            member_id
            for member_id, member in self.members.items()
            if member.joining is None
            and (
                now_ms >= member.expires_ms
                or (self.state == "PreparingRebalance" and now_ms >= self._deadline_ms)
            )
        ]
        return list(self._remove(late, now_ms))

    def move(self, now_ms: int) -> None:
        """Let another broker load the group as it was when a leader last assigned.

        Pending requests get no response, and every member's session starts again.
        """
        self.state, self.generation, self.protocol, self.leader_id, saved = self._saved
        self.members = _copied(saved)
        for member in self.members.values():
            member.joining = member.syncing = None
            member.expires_ms = now_ms + member.terms.session_timeout_ms

    # --- joining ------------------------------------------------------------------------

    def _join(
        self, connection: str, request: ev.SendJoin, terms: Terms, now_ms: int
    ) -> Iterator[Addressed]:
        code, member_id = self._identify(request, terms)
        if code != ErrorCode.NONE:
            response = ev.JoinCompleted(round=request.round, code=code, member_id=member_id)
            yield connection, response
            return
        returned = not request.member_id and member_id in self.members
        request = replace(request, member_id=member_id)
        known = self.members.get(member_id)
        same = known is not None and self._claim(known.join) == self._claim(request)
        expires_ms = now_ms + terms.session_timeout_ms
        if known is None:
            known = self.members[member_id] = _Member(terms, request, expires_ms)
        known.join, known.terms, known.expires_ms = request, terms, expires_ms
        settled = self.state == "Stable" and (member_id != self.leader_id or returned)
        # The leader may be assigning with a returned static member's old id: rebalance again.
        completing = self.state == "CompletingRebalance" and not returned
        if same and (settled or completing):
            # Its response was lost, or it is a static leader that came back (KIP-814).
            lead = self.state == "CompletingRebalance" and member_id == self.leader_id
            yield connection, self._welcome(member_id, request.round, lead=lead)
            return
        known.joining = connection
        yield from self._prepare(now_ms)
        yield from self._maybe_complete(now_ms)

    def _identify(self, request: ev.SendJoin, terms: Terms) -> tuple[ErrorCode, str]:
        """Return the error code, and the member id to use from now on."""
        member_id, instance_id = request.member_id, terms.instance_id
        holder = self._holder(instance_id)
        if member_id:
            if holder is not None and holder != member_id:
                return ErrorCode.FENCED_INSTANCE_ID, ""
            if member_id not in self.members and member_id not in self._promised:
                return ErrorCode.UNKNOWN_MEMBER_ID, ""
            self._promised.discard(member_id)
            return ErrorCode.NONE, member_id
        self._count += 1
        member_id = f"m{self._count:03}"
        if holder is not None:
            self._replace(holder, member_id)
        elif instance_id is None and self.member_id_required:
            self._promised.add(member_id)
            return ErrorCode.MEMBER_ID_REQUIRED, member_id
        return ErrorCode.NONE, member_id

    def _replace(self, old_id: str, new_id: str) -> None:
        """Give a static member that came back its new id, also in the saved state."""
        self.members[new_id] = self.members.pop(old_id)
        state, generation, protocol, leader_id, saved = self._saved
        saved = {new_id if text == old_id else text: member for text, member in saved.items()}
        leader_id = new_id if leader_id == old_id else leader_id
        self._saved = state, generation, protocol, leader_id, saved
        if self.leader_id == old_id:
            self.leader_id = new_id

    def _holder(self, instance_id: str | None) -> str | None:
        for member_id, member in self.members.items():
            if instance_id is not None and member.terms.instance_id == instance_id:
                return member_id
        return None

    @staticmethod
    def _claim(join: ev.SendJoin) -> tuple[object, ...]:
        return join.topics, join.owned, join.remembered, join.generation

    def _welcome(self, member_id: str, round_: int, *, lead: bool = False) -> ev.JoinCompleted:
        return ev.JoinCompleted(
            round=round_,
            code=ErrorCode.NONE,
            member_id=member_id,
            generation=self.generation,
            protocol=self.protocol,
            leader_id=self.leader_id,
            members={member: self._presented(member) for member in self.members} if lead else {},
            skip_assignment=not lead and member_id == self.leader_id,
        )

    def _presented(self, member_id: str) -> MemberView:
        member = self.members[member_id]
        remembers = STRATEGIES[self.protocol].remembers
        return MemberView(
            topics=member.join.topics,
            owned=member.join.remembered if remembers else member.join.owned,
            generation=member.join.generation,
            instance_id=member.terms.instance_id,
        )

    def _prepare(self, now_ms: int) -> Iterator[Addressed]:
        if self.state == "PreparingRebalance":
            return
        self.state = "PreparingRebalance"
        self._deadline_ms = now_ms + max(
            (member.terms.rebalance_timeout_ms for member in self.members.values()), default=0
        )
        for member in self.members.values():
            if member.syncing is not None:
                connection, round_ = member.syncing
                member.syncing = None
                yield connection, ev.SyncCompleted(round_, ErrorCode.REBALANCE_IN_PROGRESS)

    def _maybe_complete(self, now_ms: int) -> Iterator[Addressed]:
        if any(member.joining is None for member in self.members.values()):
            return
        self.generation += 1
        if not self.members:
            self.state = "Empty"
            self._save()
            return
        self.state = "CompletingRebalance"
        self.protocol = next(
            name
            for name in next(iter(self.members.values())).terms.strategies
            if all(name in member.terms.strategies for member in self.members.values())
        )
        if self.leader_id not in self.members:
            self.leader_id = next(iter(self.members))
        for member_id, member in self.members.items():
            connection, member.joining = member.joining, None
            assert connection is not None
            member.expires_ms = now_ms + member.terms.session_timeout_ms
            lead = member_id == self.leader_id
            yield connection, self._welcome(member_id, member.join.round, lead=lead)

    # --- the rest -----------------------------------------------------------------------

    def _sync(self, connection: str, request: ev.SendSync, now_ms: int) -> Iterator[Addressed]:
        code = self._known(request.member_id, request.generation)
        if code == ErrorCode.NONE and self.state == "PreparingRebalance":
            code = ErrorCode.REBALANCE_IN_PROGRESS
        if code != ErrorCode.NONE:
            yield connection, ev.SyncCompleted(request.round, code)
            return
        member = self.members[request.member_id]
        member.expires_ms = now_ms + member.terms.session_timeout_ms
        member.syncing = connection, request.round
        if self.state == "CompletingRebalance" and request.member_id == self.leader_id:
            for member_id, each in self.members.items():
                each.share = frozenset(request.shares.get(member_id, ()))
            self.state = "Stable"
            self._save()
        if self.state == "Stable":
            for member in self.members.values():
                if member.syncing is not None:
                    to, round_ = member.syncing
                    member.syncing = None
                    yield to, ev.SyncCompleted(round_, ErrorCode.NONE, member.share, self.protocol)

    def _known(self, member_id: str, generation: int) -> ErrorCode:
        if member_id not in self.members:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        return ErrorCode.NONE

    def _beat(self, member_id: str, generation: int, terms: Terms, now_ms: int) -> ErrorCode:
        holder = self._holder(terms.instance_id)
        if holder is not None and holder != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
        code = self._known(member_id, generation)
        if code == ErrorCode.NONE:
            self.members[member_id].expires_ms = now_ms + terms.session_timeout_ms
            if self.state == "PreparingRebalance":
                return ErrorCode.REBALANCE_IN_PROGRESS
        return code

    def _remove(self, member_ids: list[str], now_ms: int) -> Iterator[Addressed]:
        gone = [
            member_id for member_id in member_ids if self.members.pop(member_id, None) is not None
        ]
        if gone:
            yield from self._prepare(now_ms)
            yield from self._maybe_complete(now_ms)

    def _save(self) -> None:
        members = _copied(self.members)
        self._saved = self.state, self.generation, self.protocol, self.leader_id, members


def _copied(members: dict[str, _Member]) -> dict[str, _Member]:
    """Copy each member; fields are replaced, never mutated, so a shallow copy is enough."""
    return {member_id: replace(member) for member_id, member in members.items()}
