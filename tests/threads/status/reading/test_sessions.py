"""Which sessions are alive: the word of who counts them, and nobody else's: on real threads."""

from tests.support.status_world import MEMBER, StatusWorld
from zkconsumer.status.model import GroupKey, GroupKind, GroupState


def test_a_snapshot_with_sessions() -> None:
    """An owner of one that is over is none; who came after the list is alive."""
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
        on_snapshot = reader.look([key])
        assert on_snapshot.live_sessions == frozenset({session.session_id, new.session_id})
        alive.clear()
        assert reader.read().groups[key].state is GroupState.REBALANCING
    finally:
        world.close()


def test_a_snapshot_without_sessions() -> None:
    """Nobody is asked unless somebody wants it; and who does not tell in time is no failure."""
    world = StatusWorld()
    try:
        assert world.reader().read().live_sessions is None
        snapshot = world.reader(sessions=lambda _: None).read()
        assert (snapshot.live_sessions, snapshot.failures) == (None, ())
    finally:
        world.close()
