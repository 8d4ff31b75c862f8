"""How a run starts, ends and refuses; surviving kills is tested as a property elsewhere."""

from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from tests.fakes.memory_storage import MemoryStorage
from tests.support.drain_world import IDENTITY, Killed, World
from zkconsumer.drain import layout
from zkconsumer.drain.identity import DrainIdentity, refuse_another
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.errors import ConfigError, DataLost, DrainError
from zkconsumer.model import OffsetRange, TopicPartition

T = TopicPartition("t", 0)


class StopAfterFiles:
    """A ``Stop`` that is requested once this many files are published."""

    def __init__(self, world: World, files: int) -> None:
        self._world = world
        self._files = files

    def requested(self) -> bool:
        """See ``Stop``."""
        files = [path for path in self._world.storage.content if path.startswith("topic=")]
        return len(files) >= self._files

    def wait(self, timeout_ms: int) -> None:
        """Do not wait."""


def drained() -> World:
    """Build a world whose only partition was landed."""
    world = World()
    world.grow(T, 12)
    world.run()
    return world


def test_a_run_says_what_it_landed() -> None:
    """The report holds batches, messages and positions; a second run has nothing to do."""
    world = World()
    world.grow(T, 12)
    report = world.run(max_offsets=5)
    assert (report.batches, report.rows, report.positions) == (3, 12, {T: 12})
    again = world.run()
    assert (again.batches, again.rows, again.positions) == (0, 0, {T: 12})


def test_a_stopped_run_ends_after_its_current_batch() -> None:
    """The report says that it is not finished; the next run lands the rest."""
    world = World()
    world.grow(T, 12)
    report = world.run(max_offsets=5, stop=StopAfterFiles(world, 1))
    assert (report.batches, report.rows, report.finished) == (1, 5, False)
    assert world.published() == {T: list(range(5))}
    rest = world.run()
    assert (rest.rows, rest.finished) == (7, True)


def test_a_partition_created_after_the_first_run_is_landed_from_its_start() -> None:
    """Starting at "latest" applies only to partitions that existed at first."""
    world = World()
    world.run()
    world.grow(T, 4)
    world.starts[T] = 4
    assert world.run().rows == 4


@pytest.mark.parametrize("is_known", [True, False])
def test_a_partition_seen_later_does_not_prolong_a_run(*, is_known: bool) -> None:
    """It is landed up to its end when it was first seen, though it keeps growing."""
    later, reads = TopicPartition("u", 0), 0
    world = World()
    world.grow(T, 1)
    if is_known:
        world.grow(later, 4)
    world.run()
    there = world.latest.pop(later, 0)  # it has no leader

    def write(point: str) -> None:
        nonlocal reads
        if point == "read_logs":
            reads += 1
            assert reads < 20, "the run does not end"
            world.grow(T, 3)
            if reads > 1:
                world.latest[later] = there
                world.grow(later, 3 * (reads - 1))

    world.at = write
    report = world.run(max_offsets=2)
    assert report.finished
    assert report.positions == {T: 4, later: there + 3}


def test_data_loss_stops_a_run_before_anything_is_written() -> None:
    """If it is allowed, the run continues and records the loss."""
    world = drained()
    world.grow(T, 8)
    world.earliest[T] = 15
    before = dict(world.storage.content)
    with pytest.raises(DrainError, match=r"t-0 \[12, 15\)"):
        world.run(fail_on_data_loss=True)
    assert world.storage.content == before
    report = world.run(fail_on_data_loss=False)
    lost = OffsetRange(topic_partition=T, from_offset=12, until_offset=15)
    assert report.expired == (lost,)
    assert world.published()[T] == [*range(12), *range(15, 20)]


def test_data_lost_between_plan_and_read_is_reported_alike() -> None:
    """The error names the range and the flag; with the flag the plan is landed without the loss."""
    world = World()
    world.grow(T, 3)

    def expire(point: str) -> None:
        if "part-" in point:
            world.at = lambda _point: None
            raise DataLost(T, 0, 2, "the log begins at offset 2")

    world.at = expire
    with pytest.raises(DrainError, match=r"t-0 \[0, 2\): the log .*--no-fail-on-data-loss"):
        world.run(fail_on_data_loss=True)
    world.earliest[T] = 2
    assert world.run().rows == 1


def test_a_topic_with_a_shorter_log_is_refused() -> None:
    """Its offsets belong to another log, so nothing is written."""
    world = drained()
    world.latest[T] = 3
    with pytest.raises(DrainError, match="t-0 ends at 3, but was landed up to 12"):
        world.run()


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_a_recreated_topic_with_a_longer_log_is_refused(*, fail_on_data_loss: bool) -> None:
    """Nothing is landed or committed, and the error names the topic."""
    world = World()
    world.created = {"t": "czxid:5"}
    world.grow(T, 12)
    world.run()
    before = dict(world.storage.content)
    world.created = {"t": "czxid:9"}
    world.grow(T, 20)
    for _ in range(2):
        with pytest.raises(DrainError, match=r"recreated .*: t: t-0 \(landed up to 12\)"):
            world.run(fail_on_data_loss=fail_on_data_loss)
    assert world.storage.content == before
    assert world.committed == {T: 12}


def test_a_topic_s_creation_is_remembered_while_it_is_unknown() -> None:
    """While ZooKeeper is unreachable, the creation known from earlier plans still counts."""
    world = World()
    world.created = {"t": "czxid:5"}
    world.grow(T, 12)
    world.run()
    world.created = {}
    world.grow(T, 3)
    assert world.run().rows == 3
    world.created = {"t": "id:77"}  # an id of another kind cannot be compared
    world.grow(T, 3)
    assert world.run().rows == 3
    world.created = {"t": "czxid:9"}
    world.grow(T, 3)
    world.run()  # from now on this id is the known one
    world.created = {"t": "czxid:a"}
    with pytest.raises(DrainError, match="recreated"):
        world.run()


@pytest.mark.parametrize(
    ("moment", "published"),
    [("/plans/", []), (".parquet", []), ("/batches/", list(range(5)))],
    ids=["planned", "being read", "landed"],
)
def test_a_topic_recreated_during_a_batch_stops_it(moment: str, published: list[int]) -> None:
    """A batch that was landed before is published, but not committed for the new topic."""
    armed = [moment]

    def recreate(point: str) -> None:
        if armed and point.startswith("after create") and armed[0] in point:
            armed.clear()
            world.created = {"t": "czxid:9"}

    world = World(recreate)
    world.created = {"t": "czxid:5"}
    world.grow(T, 12)
    with pytest.raises(DrainError, match="recreated"):
        world.run()
    assert not armed
    assert world.published().get(T, []) == published
    assert world.committed == {}


def test_nothing_is_committed_for_deleted_topics() -> None:
    """Brokers refuse such offsets, which would block the others for good."""
    other = TopicPartition("u", 0)
    world = drained()
    world.grow(other, 3)
    del world.latest[T]
    world.committed.clear()
    world.run()
    assert world.committed == {other: 3}


def test_a_batch_of_a_killed_run_is_committed_first() -> None:
    """Only its own partitions are; earlier ones were committed with their batches."""
    world = drained()
    world.grow(TopicPartition("u", 0), 3)
    del world.latest[T]
    world.committed.clear()

    def kill(point: str) -> None:
        if point.startswith("before commit"):
            raise Killed

    world.at = kill
    with pytest.raises(Killed):
        world.run()
    world.at = lambda _point: None
    world.latest = {}
    world.run()
    assert world.committed == {TopicPartition("u", 0): 3}


@pytest.mark.parametrize("is_landed", [True, False])
def test_a_batch_lost_to_another_drain_is_reported_as_such(*, is_landed: bool) -> None:
    """The other drain deleted the staged file, so the error must not ask to restore it."""
    world = World()
    world.grow(T, 3)

    def rival(point: str) -> None:
        if "part-" in point:
            world.at = lambda _point: None
            if is_landed:
                world.run()
            raise DrainError("a staged file is gone")

    world.at = rival
    with pytest.raises(
        DrainError, match="another drain is running" if is_landed else "file is gone"
    ):
        world.run()
    world.run()
    assert world.published() == {T: [0, 1, 2]}


def test_a_lost_plan_or_manifest_is_noticed() -> None:
    """Without them it is unknown what was landed."""
    for lost in (layout.plan_file(2), layout.manifest_file(1), layout.IDENTITY):
        world = World()
        world.grow(T, 12)
        world.run(max_offsets=5)
        del world.storage.content[lost]
        with pytest.raises(DrainError, match="restore"):
            world.run()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"subscription": "subscribe=u"}, "--topics"),
        ({"starting": "latest"}, "--from"),
        ({"group": None}, "--group"),
        ({"format": "json"}, "--format"),
        ({"target": "b:9092"}, "--target-bootstrap-servers"),
        ({"cluster": "zk9:2181"}, "--zookeeper"),
        ({"cluster": "zk1:2181/other"}, "--zookeeper"),
    ],
)
def test_another_drain_is_refused(change: dict[str, str | None], named: str) -> None:
    """A path holds one drain; the flag that differs is named."""
    other = replace(IDENTITY, **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=named):
        refuse_another("/lake", IDENTITY, other)


def test_the_same_cluster_may_be_given_by_other_hosts() -> None:
    """One host in common is enough."""
    refuse_another("/lake", IDENTITY, replace(IDENTITY, cluster="zk2:2181, zk1:2181/"))
    assert DrainIdentity.from_bytes("drain.json", IDENTITY.to_bytes()) == IDENTITY


def test_a_path_with_files_of_others_is_refused() -> None:
    """Readers would take them for landed messages; nothing is written."""
    world = World()
    world.grow(T, 3)
    world.storage.content["part-00000.parquet"] = b"others"
    world.storage.content["_SUCCESS"] = b""
    before = dict(world.storage.content)
    with pytest.raises(
        ConfigError, match=r"--to .*: .* holds no drain, but other files \(part-00000\.parquet\): "
    ):
        world.run()
    assert world.storage.content == before
    del world.storage.content["part-00000.parquet"]
    assert world.run().rows == 3


class ReplacingStorage(MemoryStorage):
    """A store that ignores the condition of a conditional put."""

    def create(self, path: str, data: bytes) -> bool:
        """Write always, whatever existed before."""
        self.content.pop(path, None)
        return super().create(path, data)


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_store_that_replaces_is_refused_before_anything_is_written(*, is_begun: bool) -> None:
    """An existing drain is checked as well, since a bucket may have been moved."""
    world = drained() if is_begun else World()
    world.grow(T, 3)
    before = dict(world.storage.content)
    world.storage = ReplacingStorage()
    world.storage.content |= before
    with pytest.raises(ConfigError, match=r"the store replaces .*If-None-Match"):
        world.run()
    assert world.storage.content == before


def test_an_existing_identity_is_read_before_one_is_written() -> None:
    """An existing one decides, whatever the store does with a second one."""
    world = drained()
    points: list[str] = []
    world.at = points.append
    world.run()
    assert f"read {layout.IDENTITY}" in points
    assert f"before create {layout.IDENTITY}" not in points


def test_a_drain_whose_identity_is_deleted_at_its_start_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else its batches would belong to no drain, and every later run would be refused."""
    world = World()
    world.grow(T, 3)
    alone = BatchJournal.alone

    def delete_before(journal: BatchJournal) -> AbstractContextManager[None]:
        del world.storage.content[layout.IDENTITY]
        return alone(journal)

    with monkeypatch.context() as patch:
        patch.setattr(BatchJournal, "alone", delete_before)
        with pytest.raises(DrainError, match=r"drain\.json was deleted just now; nothing was done"):
            world.run()
    assert world.storage.content == {}
    assert world.run().rows == 3


def test_a_failed_start_does_not_claim_the_path() -> None:
    """After correcting a mistyped topic or address, the same path can be used."""

    def fail(point: str) -> None:
        if point == "read_logs":
            raise ConfigError("subscribe: no topic tt")

    world = World(fail)
    with pytest.raises(ConfigError, match="no topic"):
        world.run()
    assert world.storage.content == {}


class BatchListener(ProgressListener):
    """A progress listener that records the numbers of the batches that began."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def on_landing(self, plan: BatchPlan) -> None:
        """See ``ProgressListener``."""
        self.numbers.append(plan.number)


def test_an_unpublished_batch_is_reported_again() -> None:
    """A slow publication is thus reported like any slow batch."""

    def kill(point: str) -> None:
        if point.startswith("before commit"):
            raise Killed

    world, listener = World(kill), BatchListener()
    world.grow(T, 4)
    with pytest.raises(Killed):
        world.run(listener=listener)
    world.at = lambda _point: None
    world.run(listener=listener)
    assert listener.numbers == [1, 1]
