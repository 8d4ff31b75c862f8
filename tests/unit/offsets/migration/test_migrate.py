"""Migrations between stores in memory, with changes at any moment."""

import pytest

from tests.support.memory_offset_store import MemoryOffsetStore
from zkconsumer.errors import RequestTimedOut
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.carrying import carry_out
from zkconsumer.offsets.migration.group import MigratedGroup
from zkconsumer.offsets.migration.migrate import Migration, MigrationRequest, plan_undoing
from zkconsumer.offsets.migration.plan import Ahead, MigrationPlan, MigrationRefused, OffsetStorage
from zkconsumer.offsets.migration.roll_back import RollBack

A, B, C = (TopicPartition("t", number) for number in range(3))
OTHER = TopicPartition("u", 0)
ALL = frozenset((A, B, C, OTHER))


class TwoStoreWorld:
    """A group with two offsets in ZooKeeper; one of them is in Kafka, too, but smaller."""

    def __init__(self) -> None:
        self.source = MemoryOffsetStore(
            OffsetStorage.ZOOKEEPER, {A: OffsetAndMetadata(5), B: OffsetAndMetadata(7)}
        )
        self.target = MemoryOffsetStore(OffsetStorage.KAFKA, {B: OffsetAndMetadata(2, "note")})
        self.group = MigratedGroup("g", (self.source, self.target))
        self.migration = Migration(self.group, self.source, self.target, ALL)


@pytest.fixture
def world() -> TwoStoreWorld:
    """A group whose offsets have not been migrated."""
    return TwoStoreWorld()


def numbers(storage: MemoryOffsetStore) -> dict[TopicPartition, int | None]:
    """Return the offsets that a store holds."""
    return {tp: None if entry is None else entry.offset for tp, entry in storage.offsets.items()}


def test_offsets_are_migrated_and_verified(world: TwoStoreWorld) -> None:
    """The source keeps them, as members of the old kind could come back."""
    plan = world.migration.plan(MigrationRequest())
    assert numbers(world.target) == {B: 2}
    outcome = world.migration.carry_out(plan)
    assert outcome.verified
    assert outcome.written == (A, B)
    assert numbers(world.target) == numbers(world.source) == {A: 5, B: 7}


def test_a_second_migration_changes_nothing(world: TwoStoreWorld) -> None:
    """It is verified all the same."""
    world.migration.carry_out(world.migration.plan(MigrationRequest()))
    plan = world.migration.plan(MigrationRequest())
    assert plan.writes == {}
    assert world.migration.carry_out(plan).verified


def test_only_requested_topics_are_migrated(world: TwoStoreWorld) -> None:
    """Other topics are neither read nor written."""
    world.source.offsets[OTHER] = OffsetAndMetadata(1)
    plan = world.migration.plan(MigrationRequest(topics=frozenset("u")))
    world.migration.carry_out(plan)
    assert numbers(world.target) == {B: 2, OTHER: 1}


@pytest.mark.parametrize("where", [OffsetStorage.ZOOKEEPER, OffsetStorage.KAFKA])
def test_a_group_with_members_is_not_migrated(world: TwoStoreWorld, where: OffsetStorage) -> None:
    """Whichever store knows of the members, the error names them."""
    storage = world.source if where is OffsetStorage.ZOOKEEPER else world.target
    storage.member_ids = ["g_host-1"]
    with pytest.raises(MigrationRefused, match="g_host-1: stop them first"):
        world.migration.plan(MigrationRequest(wait_limit_ms=0))


def test_members_that_leave_are_waited_for(world: TwoStoreWorld) -> None:
    """The wait ends as soon as they have left."""
    snapshots = iter([["g_host-1"], ["g_host-1"], []])

    def change_members() -> None:
        world.source.member_ids = next(snapshots, [])

    world.source.on_members = change_members
    assert set(world.migration.plan(MigrationRequest(wait_limit_ms=60_000)).writes) == {A, B}


def test_a_member_that_joins_before_the_writing_stops_the_migration(world: TwoStoreWorld) -> None:
    """No offset is written."""
    plan = world.migration.plan(MigrationRequest())
    world.target.member_ids = ["m-1"]
    with pytest.raises(MigrationRefused, match="m-1"):
        world.migration.carry_out(plan)
    assert numbers(world.target) == {B: 2}


def test_a_refused_plan_writes_nothing(world: TwoStoreWorld) -> None:
    """Not even the partitions that would not be refused are written."""
    world.target.offsets[A] = OffsetAndMetadata(9)
    plan = world.migration.plan(MigrationRequest())
    with pytest.raises(MigrationRefused, match="ahead of the source's 5"):
        world.migration.carry_out(plan)
    assert numbers(world.target) == {A: 9, B: 2}
    kept = world.migration.carry_out(world.migration.plan(MigrationRequest(ahead=Ahead.KEEP)))
    assert kept.verified
    assert numbers(world.target) == {A: 9, B: 7}


def test_changes_during_the_migration_are_reported_as_doubts(world: TwoStoreWorld) -> None:
    """A member that joins meanwhile, or a source that moves, is reported."""
    plan = world.migration.plan(MigrationRequest())

    def meanwhile() -> None:
        world.source.member_ids = ["g_host-1"]
        world.source.offsets[A] = OffsetAndMetadata(6)

    world.target.on_write = meanwhile
    outcome = world.migration.carry_out(plan)
    assert not outcome.verified
    assert outcome.failed == {}
    assert outcome.doubts == (
        "t-0 moved in zookeeper meanwhile, from 5 to 6: a client still commits: migrate it again",
        "a member joined meanwhile: g_host-1",
    )


def test_a_write_without_a_response_is_judged_by_reading(world: TwoStoreWorld) -> None:
    """What was written is found out by reading: the first partition was, the second was not."""
    plan = world.migration.plan(MigrationRequest())
    world.target.fail_after = 1
    outcome = world.migration.carry_out(plan)
    assert outcome.written == (A,)
    assert outcome.failed == {B: "the answer was lost; it holds 2"}


def test_a_refused_partition_does_not_hide_the_others(world: TwoStoreWorld) -> None:
    """It is reported with the reason."""
    world.target.refused[A] = "the metadata is too large"
    outcome = world.migration.carry_out(world.migration.plan(MigrationRequest()))
    assert outcome.written == (B,)
    assert outcome.failed == {A: "the metadata is too large; it holds none"}


def test_offsets_that_can_not_be_read_back_are_not_verified(world: TwoStoreWorld) -> None:
    """The offsets may have been written all the same."""
    plan = world.migration.plan(MigrationRequest())

    def silence() -> None:
        world.target.unreadable = True

    world.target.on_write = silence
    outcome = world.migration.carry_out(plan)
    assert outcome.doubts == ("the written offsets could not be read back: no answer",)
    assert set(outcome.failed) == {A, B}


def test_a_source_that_can_not_be_read_is_an_error(world: TwoStoreWorld) -> None:
    """It is raised before anything is written."""
    world.source.unreadable = True
    with pytest.raises(RequestTimedOut):
        world.migration.plan(MigrationRequest())


def roll_back_of(plan: MigrationPlan) -> RollBack:
    """Return the content of the plan's roll-back file."""
    return RollBack(
        group_id="g",
        target=OffsetStorage.KAFKA,
        zookeeper="zk",
        made_ms=0,
        written=plan.changes,
    )


def test_a_roll_back_restores_the_former_offsets(world: TwoStoreWorld) -> None:
    """Offsets are restored with their metadata, and new ones deleted."""
    plan = world.migration.plan(MigrationRequest())
    back = roll_back_of(plan)
    world.migration.carry_out(plan)
    undoing = plan_undoing(world.group, world.target, back, MigrationRequest())
    outcome = carry_out(world.group, world.target, undoing)
    assert outcome.verified
    assert world.target.offsets == {A: None, B: OffsetAndMetadata(2, "note")}


def test_only_requested_topics_are_rolled_back(world: TwoStoreWorld) -> None:
    """The offsets of others stay as the migration wrote them."""
    world.source.offsets[OTHER] = OffsetAndMetadata(1)
    plan = world.migration.plan(MigrationRequest())
    world.migration.carry_out(plan)
    request = MigrationRequest(topics=frozenset("u"))
    undoing = plan_undoing(world.group, world.target, roll_back_of(plan), request)
    assert carry_out(world.group, world.target, undoing).verified
    assert numbers(world.target) == {A: 5, B: 7, OTHER: None}


def test_a_roll_back_is_refused_if_others_have_committed_since(world: TwoStoreWorld) -> None:
    """It is refused, too, if the group has members; ``force`` overrides committed offsets only."""
    plan = world.migration.plan(MigrationRequest())
    back = roll_back_of(plan)
    world.migration.carry_out(plan)
    group, target = world.group, world.target
    world.target.offsets[A] = OffsetAndMetadata(50)
    with pytest.raises(MigrationRefused, match="somebody committed since"):
        carry_out(group, target, plan_undoing(group, target, back, MigrationRequest()))
    forced = plan_undoing(group, target, back, MigrationRequest(ahead=Ahead.REWIND))
    world.target.member_ids = ["m-1"]
    with pytest.raises(MigrationRefused, match="m-1"):
        carry_out(group, target, forced)
    world.target.member_ids = []
    assert carry_out(group, target, forced).verified
    assert numbers(world.target) == {A: None, B: 2}
