"""A drain is killed at every step, and two drains work on one path: each message lands once."""

import json
from collections.abc import Callable

import pytest
from greenlet import greenlet
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.drain_world import Killed, World, whole
from tests.support.shares import examples
from zkconsumer.drain import layout
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.errors import DrainError
from zkconsumer.model import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class KillPoint:
    """Kills at one point of a run, and looks at the world at every one."""

    def __init__(self, world: World, burns: int) -> None:
        self._world = world
        self.left = burns

    def __call__(self, _point: str) -> None:
        see_that_commits_are_landed(self._world)
        if self.left == 0:
            raise Killed
        self.left -= 1


def see_that_commits_are_landed(world: World) -> None:
    """Whatever the group's offsets say is dealt with can be seen by readers, at any time."""
    published = world.published()
    for tp, committed in world.committed.items():
        wanted = [offset for offset in world.log(tp) if offset < committed]
        assert [offset for offset in published.get(tp, []) if offset < committed] == wanted


def some_world() -> World:
    """Three partitions, one of them empty, with holes in the others."""
    world = World()
    world.grow(T0, 7)
    world.grow(T1, 3)
    world.grow(U0, 0)
    world.compacted |= {(T0, 2), (T0, 3), (T1, 0)}
    return world


def see_everything_once(world: World) -> None:
    """All logs are landed once, committed, and nothing is left lying about."""
    assert world.published() == whole({tp: world.log(tp) for tp in world.latest})
    assert world.committed == world.latest
    assert not world.storage.names(layout.STAGING)
    held = BatchJournal(world.storage).held()
    assert held.manifest is not None


def run_killed(world: World, burns: int) -> bool:
    """Run a process that is killed after so many points; whether it was."""
    world.at = KillPoint(world, burns)
    try:
        world.run()
    except Killed:
        return True
    finally:
        world.at = lambda _point: None
    return False


def test_killed_once_at_every_point_it_goes_on() -> None:
    """There is no point at which a kill loses a message, doubles one, or commits too early."""
    burns = 0
    while True:
        world = some_world()
        killed = run_killed(world, burns)
        world.grow(T1, 4)
        world.grow(U0, 1)
        world.run()
        see_everything_once(world)
        if not killed:
            break
        burns += 1
    assert burns > 60


@settings(max_examples=examples(150), deadline=None)
@given(
    kills=st.lists(st.integers(0, 60), max_size=8),
    events=st.lists(st.tuples(st.sampled_from([T0, T1, U0]), st.integers(0, 9)), max_size=9),
)
def test_killed_again_and_again_while_the_logs_grow(
    kills: list[int], events: list[tuple[TopicPartition, int]]
) -> None:
    """Kills may follow each other, attempts of the dead may write on, topics may come."""
    world = World()
    for number, burns in enumerate(kills):
        for tp, count in events[number : number + 1]:
            world.grow(tp, count)
        run_killed(world, burns)
        write_as_a_zombie(world)
    for tp, count in events[len(kills) :]:
        world.grow(tp, count)
    world.run()
    world.run()
    if world.latest:
        see_everything_once(world)


def write_as_a_zombie(world: World) -> None:
    """A task of a killed attempt goes on writing into the folder of its attempt."""
    for staged in world.storage.names(layout.STAGING):
        for attempt in world.storage.names(f"{layout.STAGING}/{staged}"):
            path = f"{layout.STAGING}/{staged}/{attempt}/files/topic=t/date=2014-05-13/part-late"
            world.storage.content[path] = json.dumps([["t", 0, 0]]).encode()


@settings(max_examples=examples(200), deadline=None)
@given(turns=st.lists(st.integers(0, 1), max_size=300))
def test_two_drains_on_one_path_land_each_message_once(turns: list[int]) -> None:
    """Started twice by mistake, one may end with an error; nothing is lost or doubled."""
    world = some_world()
    errors: list[DrainError] = []

    def process() -> None:
        try:
            world.run()
        except DrainError as error:
            errors.append(error)

    taking_turns(world, process, turns)
    assert all("another drain" in str(error) for error in errors)
    see_that_commits_are_landed(world)
    world.run()
    see_everything_once(world)


def taking_turns(world: World, process: Callable[[], None], turns: list[int]) -> None:
    """Two processes, of which each turn lets one go on to its next point."""
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


@pytest.mark.parametrize("burns", range(0, 60, 7))
def test_what_expires_between_two_runs_is_known_as_lost(burns: int) -> None:
    """The head of a log is deleted after a kill: what was not landed is in a plan as expired."""
    world = some_world()
    before = world.log(T0)
    run_killed(world, burns)
    landed_before = BatchJournal(world.storage).held()
    world.earliest[T0] = 6
    world.grow(T0, 2)
    world.run()
    journal = BatchJournal(world.storage)
    expired = {
        offset
        for plan in journal.plans()
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
    start = next(iter(journal.plans())).starts[T0]
    assert landed | expired == set(range(start, 9)), (landed_before, before)
