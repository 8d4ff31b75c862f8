"""A drain that is killed at any step, and two drains on one path: each message lands once."""

import json
from collections.abc import Callable

import pytest
from greenlet import greenlet
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.begun_drains import plans_of
from tests.support.drain_world import Killed, World, whole
from tests.support.shares import examples
from zkconsumer.drain import layout
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class KillPoint:
    """Kills a run at one point, and checks the world at every point."""

    def __init__(self, world: World, points: int) -> None:
        self._world = world
        self.left = points

    def __call__(self, _point: str) -> None:
        check_that_commits_are_landed(self._world)
        if self.left == 0:
            raise Killed
        self.left -= 1


def check_that_commits_are_landed(world: World) -> None:
    """Check that readers find every message below the group's committed offsets."""
    published = world.published()
    for tp, committed in world.committed.items():
        wanted = [offset for offset in world.log(tp) if offset < committed]
        assert [offset for offset in published.get(tp, []) if offset < committed] == wanted


def some_world() -> World:
    """Make three partitions, one of them empty, the others with gaps."""
    world = World()
    world.grow(T0, 7)
    world.grow(T1, 3)
    world.grow(U0, 0)
    world.compacted |= {(T0, 2), (T0, 3), (T1, 0)}
    return world


def check_that_everything_landed_once(world: World) -> None:
    """Check that all logs are landed once and committed, and that nothing is left in staging."""
    assert world.published() == whole({tp: world.log(tp) for tp in world.latest})
    assert world.committed == world.latest
    assert not world.storage.names(layout.STAGING)
    held = BatchJournal(world.storage).read_state()
    assert held.manifest is not None


def run_killed(world: World, points: int) -> bool:
    """Run a process that is killed after this many points; return whether it was."""
    world.at = KillPoint(world, points)
    try:
        world.run()
    except Killed:
        return True
    finally:
        world.at = lambda _point: None
    return False


def test_a_drain_killed_at_any_point_continues() -> None:
    """At no point does a kill lose or repeat a message, or commit one too early."""
    points = 0
    while True:
        world = some_world()
        killed = run_killed(world, points)
        world.grow(T1, 4)
        world.grow(U0, 1)
        world.run()
        check_that_everything_landed_once(world)
        if not killed:
            break
        points += 1
    assert points > 60


@settings(max_examples=examples(150), deadline=None)
@given(
    kills=st.lists(st.integers(0, 60), max_size=8),
    events=st.lists(st.tuples(st.sampled_from([T0, T1, U0]), st.integers(0, 9)), max_size=9),
)
def test_a_drain_killed_repeatedly_while_logs_grow_continues(
    kills: list[int], events: list[tuple[TopicPartition, int]]
) -> None:
    """Tasks of killed attempts may still write, and topics may be created."""
    world = World()
    for number, points in enumerate(kills):
        for tp, count in events[number : number + 1]:
            world.grow(tp, count)
        run_killed(world, points)
        write_as_a_zombie(world)
    for tp, count in events[len(kills) :]:
        world.grow(tp, count)
    world.run()
    world.run()
    if world.latest:
        check_that_everything_landed_once(world)


def write_as_a_zombie(world: World) -> None:
    """Write as a task of a killed attempt, into the folder of that attempt."""
    for staged in world.storage.names(layout.STAGING):
        for attempt in world.storage.names(f"{layout.STAGING}/{staged}"):
            path = f"{layout.STAGING}/{staged}/{attempt}/files/topic=t/date=2014-05-13/part-late"
            world.storage.content[path] = json.dumps([["t", 0, 0]]).encode()


@settings(max_examples=examples(200), deadline=None)
@given(turns=st.lists(st.integers(0, 1), max_size=300))
def test_two_drains_on_one_path_land_each_message_once(turns: list[int]) -> None:
    """If it is started twice, one may end with an error; nothing is lost or repeated."""
    world = some_world()
    errors: list[DrainError] = []

    def process() -> None:
        try:
            world.run()
        except DrainError as error:
            errors.append(error)

    taking_turns(world, process, turns)
    assert all("another drain" in str(error) for error in errors)
    check_that_commits_are_landed(world)
    world.run()
    check_that_everything_landed_once(world)


def taking_turns(world: World, process: Callable[[], None], turns: list[int]) -> None:
    """Run two processes, of which each turn lets one continue to its next point."""
    main = greenlet.getcurrent()
    world.at = lambda _point: main.switch()
    both = [greenlet(process), greenlet(process)]
    for turn in turns:
        if not both[turn].dead:
            both[turn].switch()
    for step in both:
        while not step.dead:
            step.switch()
    world.at = lambda _point: None


@pytest.mark.parametrize("points", range(0, 60, 7))
def test_messages_that_expire_between_two_runs_are_reported(points: int) -> None:
    """The start of a log is deleted after a kill: a plan lists what was not landed as expired."""
    world = some_world()
    before = world.log(T0)
    run_killed(world, points)
    landed_before = BatchJournal(world.storage).read_state()
    world.earliest[T0] = 6
    world.grow(T0, 2)
    world.run()
    journal = BatchJournal(world.storage)
    expired = {
        offset
        for plan in plans_of(journal)
        for lost in plan.expired
        for offset in range(lost.from_offset, lost.until_offset)
    } | {
        offset
        for manifest in journal.manifests()
        for part in manifest.parts
        for absence in part.absent
        for offset in range(absence.from_offset, absence.until_offset)
        if part.topic_partition == T0
    }
    landed = set(world.published()[T0])
    assert not landed & expired
    start = plans_of(journal)[0].starts[T0]
    assert landed | expired == set(range(start, 9)), (landed_before, before)
