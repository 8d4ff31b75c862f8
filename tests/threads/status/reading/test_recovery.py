"""Whatever happened between readings, the last one shows the same as a first reading would."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.shares import examples
from tests.support.spoken_groups import SpokenGroup
from tests.support.status_world import T0, T1, StatusWorld
from zkconsumer.status.model import ClusterSnapshot, GroupState, GroupStatus
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC

ACTS: dict[str, Callable[[StatusWorld, str, int], None]] = {
    "broker": lambda world, _, number: restart(world, number),
    "zookeeper": lambda world, *_: toggle(world, connected=not world.tree.store.connected),
    "own": lambda world, name, number: world.tree.own(name, "t", number, f"m{number}-0"),
    "disown": lambda world, name, number: world.tree.disown(name, "t", number),
    "commit": lambda world, name, number: world.tree.commit(name, "t", number, b"%d" % number),
    "join": lambda world, name, number: world.groups.update(
        {name: SpokenGroup(number, members={"m": {"t": (0, 1)}})}
    ),
    "commit to kafka": lambda world, name, number: world.groups.update(
        {name: SpokenGroup(number, listed=False, offsets={T0: number, T1: 9})}
    ),
    "leave": lambda world, name, _: discard(world.groups.pop(name, None)),
    "forget group": lambda world, name, _: world.tree.delete(f"/consumers/{name}"),
    "topic": lambda world, *_: world.topic("u"),
    "forget topic": lambda world, *_: world.tree.delete("/brokers/topics/u"),
    "unregister": lambda world, _, number: world.tree.delete(f"/brokers/ids/{number}"),
    "offsets topic": lambda world, *_: world.topic(OFFSETS_TOPIC),
    "time": lambda world, _, number: world.clock.advance(300_000 * number),
}
"""What may happen: to the cluster, to a group, and to a broker or partition by number."""

READ = "read"
STEPS = st.lists(
    st.tuples(st.sampled_from([READ, READ, READ, *ACTS]), st.sampled_from("gh"), st.integers(0, 1)),
    min_size=12,
    max_size=25,
)


def discard(_: object) -> None:
    """Discard the value."""


def restart(world: StatusWorld, number: int) -> None:
    """Stop a broker, or start it again."""
    broker = world.cluster.brokers[number]
    broker.down = not broker.down
    broker.break_all()


def toggle(world: StatusWorld, *, connected: bool) -> None:
    """Connect to ZooKeeper, or disconnect."""
    session_id = world.tree.store.session_id
    if connected:
        world.tree.server.reconnect(session_id)
    else:
        world.tree.server.disconnect(session_id)


def mend(world: StatusWorld) -> None:
    """Repair all that was broken."""
    toggle(world, connected=True)
    for number, broker in enumerate(world.cluster.brokers):
        broker.down = False
        world.register(number)


def without_history(snapshot: ClusterSnapshot) -> ClusterSnapshot:
    """Return the snapshot without what only a reader with a history can know."""
    groups = {key: unwatched(group) for key, group in snapshot.groups.items()}
    return replace(snapshot, clock_skew_ms=None, groups=groups)


def unwatched(group: GroupStatus) -> GroupStatus:
    """Return the group without how long its offsets have been watched, and what follows from it."""
    state = GroupState.EMPTY if group.state is GroupState.ABANDONED else group.state
    return replace(group, unmoved_since_ms=None, state=state)


@given(STEPS)
@settings(max_examples=examples(120), deadline=None)
def test_the_last_reading_equals_a_first_reading(steps: list[tuple[str, str, int]]) -> None:
    """Faults and changes between readings never make a reading fail as a whole."""
    world = StatusWorld()
    try:
        reader = world.reader(quiet_ms=0)
        for step, name, number in steps:
            if step == READ:
                reader.read()
            else:
                ACTS[step](world, name, number)
        mend(world)
        # The first reading notices what has moved, the second asks the new places.
        reader.read()
        last = reader.read()
        assert last.failures == ()
        assert without_history(last) == without_history(world.reader(quiet_ms=0).read())
    finally:
        world.close()
