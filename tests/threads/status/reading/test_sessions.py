"""Which ZooKeeper sessions are alive, as the source of that list says, on real threads."""

from tests.support.status_world import MEMBER, StatusWorld
from zkconsumer.status.model import GroupKey, GroupKind, GroupState


def test_a_snapshot_uses_the_live_sessions() -> None:
    """An owner whose session has ended does not count; one that is newer than the list does."""
    world = StatusWorld()
    key = GroupKey(GroupKind.ZOOKEEPER, "g")
    try:
        session = world.tree.join("g", MEMBER, {"t": 1})
        for number in range(2):
            world.tree.own("g", "t", number, f"{MEMBER}-0", session)
        alive = {session.session_id}
        reader = world.reader(sessions=lambda _: frozenset(alive))
        snapshot = reader.read()
        assert snapshot.live_sessions == frozenset({session.session_id})
        assert snapshot.groups[key].state is GroupState.STABLE
        new = world.tree.join("g", f"{MEMBER}0", {"t": 1})
        on_snapshot = reader.read_groups([key])
        assert on_snapshot.live_sessions == frozenset({session.session_id, new.session_id})
        alive.clear()
        assert reader.read().groups[key].state is GroupState.REBALANCING
    finally:
        world.close()


def test_a_snapshot_may_lack_the_live_sessions() -> None:
    """They are read only if configured, and no list in time is no failure."""
    world = StatusWorld()
    try:
        assert world.reader().read().live_sessions is None
        snapshot = world.reader(sessions=lambda _: None).read()
        assert (snapshot.live_sessions, snapshot.failures) == (None, ())
    finally:
        world.close()
