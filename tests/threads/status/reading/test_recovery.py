"""Whatever happened between readings, what is shown in the end is what a first reading shows."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scripted_groups import ScriptedGroup
from tests.support.shares import examples
from tests.support.status_world import T0, T1, StatusWorld
from zkconsumer.status.model import ClusterSnapshot, GroupState, GroupStatus
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC

EVENTS: dict[str, Callable[[StatusWorld, str, int], None]] = {
    "broker": lambda world, _, number: restart(world, number),
    "zookeeper": lambda world, *_: toggle(world, connected=not world.tree.store.connected),
    "own": lambda world, name, number: world.tree.own(name, "t", number, f"m{number}-0"),
    "disown": lambda world, name, number: world.tree.disown(name, "t", number),
    "commit": lambda world, name, number: world.tree.commit(name, "t", number, b"%d" % number),
    "join": lambda world, name, number: world.groups.update(
        {name: ScriptedGroup(number, members={"m": {"t": (0, 1)}})}
    ),
    "commit to kafka": lambda world, name, number: world.groups.update(
        {name: ScriptedGroup(number, listed=False, offsets={T0: number, T1: 9})}
    ),
    "leave": lambda world, name, _: void(world.groups.pop(name, None)),
    "forget group": lambda world, name, _: world.tree.delete(f"/consumers/{name}"),
    "topic": lambda world, *_: world.topic("u"),
    "forget topic": lambda world, *_: world.tree.delete("/brokers/topics/u"),
    "unregister": lambda world, _, number: world.tree.delete(f"/brokers/ids/{number}"),
    "offsets topic": lambda world, *_: world.topic(OFFSETS_TOPIC),
    "time": lambda world, _, number: world.clock.advance(300_000 * number),
}
"""What may happen to a world, a group, and a broker or a partition."""

READ = "read"
STEPS = st.lists(
    st.tuples(
        st.sampled_from([READ, READ, READ, *EVENTS]), st.sampled_from("gh"), st.integers(0, 1)
    ),
    min_size=12,
    max_size=25,
)


def void(_: object) -> None:
    """Nothing."""


def restart(world: StatusWorld, number: int) -> None:
    """A broker stops, or starts again."""
    broker = world.cluster.brokers[number]
    broker.down = not broker.down
    broker.break_all()


def toggle(world: StatusWorld, *, connected: bool) -> None:
    """Break the connection to ZooKeeper, or mend it."""
    session_id = world.tree.store.session_id
    if connected:
        world.tree.server.reconnect(session_id)
    else:
        world.tree.server.disconnect(session_id)


def mend(world: StatusWorld) -> None:
    """All is well again."""
    toggle(world, connected=True)
    for number, broker in enumerate(world.cluster.brokers):
        broker.down = False
        world.register(number)


def plain(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Without what only who has read before can know."""
    groups = {key: unwatched(group) for key, group in snapshot.groups.items()}
    return replace(snapshot, clock_skew_ms=None, groups=groups)


def unwatched(group: GroupStatus) -> GroupStatus:
    """Without since when its offsets are watched, and what follows from that."""
    state = GroupState.EMPTY if group.state is GroupState.ABANDONED else group.state
    return replace(group, offsets_unchanged_since_ms=None, state=state)


@given(STEPS)
@settings(max_examples=examples(120), deadline=None)
def test_all_is_seen_in_the_end(steps: list[tuple[str, str, int]]) -> None:
    """Faults, moves, and things that come and go, between readings that never fail as a whole."""
    world = StatusWorld()
    try:
        reader = world.reader(quiet_ms=0)
        for what, name, number in steps:
            if what == READ:
                reader.read()
            else:
                EVENTS[what](world, name, number)
        mend(world)
        # One that finds out who has moved, and one that asks there.
        reader.read()
        last = reader.read()
        assert last.failures == ()
        assert plain(last) == plain(world.reader(quiet_ms=0).read())
    finally:
        world.close()
