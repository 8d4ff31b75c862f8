"""What must hold when a world has settled, and when every member has left."""

from collections.abc import Sequence

from tests.simulation.ledger import Violation
from tests.simulation.member import GROUP, SimMember
from tests.simulation.world import World
from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.assignment.strategy import CannotAssign, assign
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.zk.nodes import Registration, parse_registration

MAX_WATCHES_A_PATH = 3
Ownership = dict[TopicPartition, ConsumerThreadId]


def check_rest(world: World) -> None:
    """Check that exactly the member that the assignor names owns and reads each partition."""
    expected = _expected(world)
    found = {tp: owner.data.decode() for tp in world.logs if (owner := world.owner(tp)) is not None}
    named = {tp: str(thread) for tp, thread in expected.items()}
    if found != named:
        raise Violation(f"owners at rest are {_text(found)}, but the assignor says {_text(named)}")
    for member in world.members:
        _check_member(world, member, expected)
    if world.members[0].delivery.commits_ahead:
        return  # a crash may lose what was committed but not yet delivered
    # Partitions that nobody subscribes to any more need no reader.
    world.ledger.check_complete(expected)


def _expected(world: World) -> Ownership:
    """Return the assignment by the registrations that should exist, not those that do."""
    if not world.members:
        return {}
    topics = frozenset(tp.topic for tp in world.logs)
    listed = world.tree.children("/brokers/topics") or []
    members: dict[str, dict[str, int]] = {}
    for member in world.members:
        node = world.tree.get(f"/consumers/{GROUP}/ids/{member.plan.consumer_id}")
        if node is None or node.ephemeral_owner != member.store.session_id:
            raise Violation(f"{member.name} is not registered at rest")
        registration = parse_registration(node.data)
        assert isinstance(registration, Registration)
        expanded = expand(registration, listed, exclude_internal=True)
        members[member.plan.consumer_id] = expanded
    partitions = {
        topic: tuple(sorted(tp.partition for tp in world.logs if tp.topic == topic))
        for topic in topics
    }
    one = world.members[0].plan
    result = assign(one.strategy, GroupView(members, partitions), one.consumer_id)
    assert not isinstance(result, CannotAssign)
    return dict(result)


def _check_member(world: World, member: SimMember, expected: Ownership) -> None:
    own = {tp for tp, thread in expected.items() if thread.consumer_id == member.plan.consumer_id}
    member.fetching.forget_inactive()
    fetched = [position.claim.topic_partition for position in member.fetching.positions]
    for what, partitions in {
        "fetches": fetched,
        "has claims of": [claim.topic_partition for claim in member.claims.claims()],
        "believes to read": list(member.core.started),
        "believes to own": list(member.core.claimed),
    }.items():
        if sorted(partitions) != sorted(own):
            raise Violation(f"{member.name} {what} {partitions} at rest, not {sorted(own)}")
    if len(member.claims) != len(own):
        raise Violation(
            f"{member.name} keeps {len(member.claims)} claims for {len(own)} partitions"
        )
    for tp in own:
        owner = world.owner(tp)
        if owner is None or owner.ephemeral_owner != member.store.session_id:
            raise Violation(f"the owner node of {tp} is of an earlier session of {member.name}")
    _check_watches(member)


def _check_watches(member: SimMember) -> None:
    raw = member.store.raw
    for watches in (raw._data_watches, raw._child_watches):
        for path, watching in watches.items():
            if len(watching) > MAX_WATCHES_A_PATH:
                raise Violation(f"{member.name} leaves {len(watching)} watches on {path}")


def check_empty(world: World, left: Sequence[SimMember]) -> None:
    """Check that members left nothing behind, and auto-committed all that they read."""
    if world.members:
        raise Violation(f"{[member.name for member in world.members]} do not end")
    for folder in ("ids", *(f"owners/{tp.topic}" for tp in world.logs)):
        names = world.tree.children(f"/consumers/{GROUP}/{folder}")
        if names:
            raise Violation(f"{names} are left in {folder}")
    for member in left:
        if not member.control.done or any(not caller.ended for caller in member.callers):
            raise Violation(f"{member.name} left, but not all of its streams have ended")


def _text(owners: dict[TopicPartition, str]) -> str:
    return ", ".join(f"{tp}: {owner}" for tp, owner in sorted(owners.items())) or "nobody"
