"""Partial reads of groups show what a new reader shows, whatever happens in between."""

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fakes.memory_zk import MemoryZkStore
from tests.support.scripted_groups import ScriptedGroup
from tests.support.shares import examples
from tests.support.status_world import T0, T1, StatusWorld
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupStatus
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC

NAMES = ("g", "h")
KEYS = [GroupKey(kind, name) for kind in GroupKind for name in NAMES]
Step = tuple[str, str, int]


class GroupStory:
    """Makes events happen to groups."""

    def __init__(self, world: StatusWorld) -> None:
        self.world = world
        self._sessions: list[tuple[str, MemoryZkStore]] = []
        self._numbers = iter(range(1_000))

    def happen(self, step: Step) -> None:
        """Make an event happen, if it is possible now."""
        what, group, number = step
        events: dict[str, Callable[[], None]] = {
            "join": lambda: self._join(group),
            "leave": self._leave,
            "own": lambda: self._own(group, number),
            "disown": lambda: self.world.tree.disown(group, "t", number),
            "commit": lambda: self.world.tree.commit(group, "t", number, b"%d" % (40 + number)),
            "garbage": lambda: self.world.tree.commit(group, "t", number, b"garbage"),
            "forget": lambda: self.world.tree.delete(f"/consumers/{group}"),
            "coordinate": lambda: self._coordinate(group, number),
        }
        events[what]()

    def _join(self, group: str) -> None:
        member = f"{group}_m{next(self._numbers)}"
        self._sessions.append((member, self.world.tree.join(group, member, {"t": 1})))

    def _leave(self) -> None:
        if self._sessions:
            self._sessions.pop(0)[1].close()

    def _own(self, group: str, number: int) -> None:
        if not self._sessions:
            return
        member, session = self._sessions[-1]
        self.world.tree.disown(group, "t", number)
        self.world.tree.own(group, "t", number, f"{member}-0", session)

    def _coordinate(self, group: str, number: int) -> None:
        known = self.world.groups.get(group)
        if known is None:
            return
        members = {f"m{number}": {"t": (number,)}}
        self.world.groups[group] = replace(known, members=members, offsets={T0: number, T1: 7})


def shown(snapshot: ClusterSnapshot) -> dict[GroupKey, GroupStatus]:
    """Return the groups without their ages."""
    return {
        key: replace(
            group,
            seen_ms=0,
            partitions=tuple(
                partition._replace(
                    log_at_ms=0,
                    committed=tuple(entry._replace(seen_ms=0) for entry in partition.committed),
                )
                for partition in group.partitions
            ),
        )
        for key, group in snapshot.groups.items()
    }


STEPS = st.tuples(
    st.sampled_from(
        ["join", "leave", "own", "own", "disown", "commit", "garbage", "forget", "coordinate"]
    ),
    st.sampled_from(NAMES),
    st.integers(0, 1),
)


@settings(deadline=None, max_examples=examples(40))
@given(first=st.lists(STEPS, max_size=6), between=st.lists(st.lists(STEPS, max_size=4), max_size=3))
def test_a_partial_read_shows_the_current_state(
    first: list[Step], between: list[list[Step]]
) -> None:
    """That is members, owners, offsets and log ends of both kinds of groups, new and deleted."""
    world = StatusWorld()
    try:
        world.topic(OFFSETS_TOPIC)
        world.groups["h"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 7})
        story = GroupStory(world)
        for step in first:
            story.happen(step)
        reader = world.reader()
        reader.read()
        for steps in between:
            for step in steps:
                story.happen(step)
            world.clock.advance(1)
            on_snapshot = reader.read_groups(KEYS)
            assert on_snapshot.failures == ()
            assert shown(on_snapshot) == shown(world.reader().read())
        assert shown(reader.read()) == shown(world.reader().read())
    finally:
        world.close()
