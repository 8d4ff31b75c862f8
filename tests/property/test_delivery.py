"""The delivery modes keep their promises through crashes, revocations and failed commits."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.chunks import each_chunk
from tests.support.delivery_world import CHUNK_RECORDS, DeliveryWorld, Partition
from tests.support.shares import examples
from zkconsumer.streams.delivery import Delivery

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

Action = Callable[[DeliveryWorld], object]
PARTITIONS = 2

numbers = st.integers(0, PARTITIONS - 1)
fetches = st.builds(
    lambda number, count: lambda world: world.fetch(number, count),
    numbers,
    st.integers(0, CHUNK_RECORDS),
)
requests = st.sampled_from(
    [
        DeliveryWorld.request,
        DeliveryWorld.request,
        DeliveryWorld.request_batch,
        DeliveryWorld.ask_for_arrow,
    ]
)
actions: st.SearchStrategy[Action] = st.one_of(
    fetches,
    requests,
    requests,
    requests,
    st.just(DeliveryWorld.commit_automatically),
    st.builds(lambda number: lambda world: world.revoke(number), numbers),
    st.just(DeliveryWorld.crash),
    st.builds(
        lambda response: lambda world: world.responses.append(response),
        st.sampled_from(["error", "maybe", "no"]),
    ),
    st.just(lambda world: world.gate.suspect()),
    st.just(lambda world: world.gate.trust()),
)
logs = st.lists(
    st.lists(st.integers(0, 30), max_size=20, unique=True).map(sorted),
    min_size=PARTITIONS,
    max_size=PARTITIONS,
)
scripts = st.lists(actions, max_size=60)


def read_to_the_end(world: DeliveryWorld) -> None:
    """Let nothing fail from now on, and read all logs to their ends."""
    world.responses.clear()
    world.gate.trust()
    for number in range(PARTITIONS):
        world.revoke(number)
        for _ in range(20):
            world.fetch(number, CHUNK_RECORDS)
    while world.request():
        pass
    world.commit_automatically()


def everything(world: DeliveryWorld) -> set[tuple[int, int]]:
    """Return all partitions and offsets of the logs."""
    return {
        (partition.tp.partition, offset)
        for partition in world.partitions
        for offset in partition.offsets
    }


@settings(deadline=None, max_examples=examples(150))
@given(logs, scripts)
def test_at_least_once_commits_nothing_that_the_caller_has_not_finished(
    log: list[list[int]], script: list[Action]
) -> None:
    """Every record below a committed offset was delivered, and the next one requested."""
    world = DeliveryWorld(Delivery.AT_LEAST_ONCE, log)

    def check(partition: Partition, offset: int) -> None:
        below = {(partition.tp.partition, number) for number in partition.between(0, offset)}
        assert below <= world.finished

    world.on_commit = check
    for action in script:
        action(world)
    read_to_the_end(world)
    assert set(world.delivered) == world.finished == everything(world)
    assert [partition.committed for partition in world.partitions] == [
        partition.end for partition in world.partitions
    ]


@settings(deadline=None, max_examples=examples(150))
@given(logs, scripts)
def test_at_most_once_delivers_nothing_twice_and_nothing_uncommitted(
    log: list[list[int]], script: list[Action]
) -> None:
    """Each interruption loses at most one chunk of a partition."""
    world = DeliveryWorld(Delivery.AT_MOST_ONCE, log)
    lost = [0] * PARTITIONS
    for action in script:
        before = [partition.claim for partition in world.partitions]
        action(world)
        for number, offset in world.pending:
            assert offset < world.partitions[number].committed
        for number, partition in enumerate(world.partitions):
            if partition.claim is not before[number]:
                now_lost = len(world.lost(partition))
                assert now_lost - lost[number] <= CHUNK_RECORDS
                lost[number] = now_lost
    for number in range(PARTITIONS):
        lost[number] = len(world.lost(world.partitions[number]))
    read_to_the_end(world)
    assert len(set(world.delivered)) == len(world.delivered)
    missing = everything(world) - set(world.delivered)
    assert len(missing) == sum(lost)


@settings(deadline=None, max_examples=examples(150))
@given(logs, scripts)
def test_scala_commits_the_current_message_and_loses_no_other(
    log: list[list[int]], script: list[Action]
) -> None:
    """A delivered message counts as consumed, so that a crash loses the current one at most."""
    world = DeliveryWorld(Delivery.SCALA, log)

    def check(partition: Partition, offset: int) -> None:
        number = partition.tp.partition
        below = {(number, position) for position in partition.between(0, offset)}
        assert below <= set(world.delivered)

    world.on_commit = check
    unfinished: set[tuple[int, int]] = set()
    for action in script:
        if action is DeliveryWorld.crash:
            unfinished.update(world.pending)
        before = world.pending
        action(world)
        if world.pending is not before:
            for number, offset in world.pending:
                assert (world.partitions[number].claim.consumed_offset or 0) > offset
    read_to_the_end(world)
    assert set(world.delivered) == everything(world)
    assert everything(world) - world.finished <= unfinished
