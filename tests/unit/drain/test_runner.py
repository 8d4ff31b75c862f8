"""How a run begins, ends and refuses; that it survives kills is a property of its own."""

from dataclasses import replace

import pytest

from tests.fakes.memory_storage import MemoryStorage
from tests.support.drain_world import IDENTITY, Killed, World
from zkconsumer.drain import layout
from zkconsumer.drain.identity import DrainIdentity, refuse_another
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.protocols import Watch
from zkconsumer.errors import ConfigError, DataLost, DrainError
from zkconsumer.model import OffsetRange, TopicPartition

T = TopicPartition("t", 0)


class StopsBehind:
    """Asks to stop once so many files are published."""

    def __init__(self, world: World, files: int) -> None:
        self._world = world
        self._files = files

    def requested(self) -> bool:
        """See ``Stop``."""
        files = [path for path in self._world.storage.content if path.startswith("topic=")]
        return len(files) >= self._files

    def wait(self, timeout_ms: int) -> None:
        """See ``Stop``."""


def drained() -> World:
    """A world of one partition, landed."""
    world = World()
    world.grow(T, 12)
    world.run()
    return world


def test_a_run_says_what_it_landed() -> None:
    """Batches, messages, positions; a second one has nothing to do."""
    world = World()
    world.grow(T, 12)
    report = world.run(max_offsets=5)
    assert (report.batches, report.rows, report.positions) == (3, 12, {T: 12})
    again = world.run()
    assert (again.batches, again.rows, again.positions) == (0, 0, {T: 12})


def test_who_is_stopped_before_the_end_says_so() -> None:
    """And ends behind the batch in hand; the next run does the rest."""
    world = World()
    world.grow(T, 12)
    report = world.run(max_offsets=5, stop=StopsBehind(world, 1))
    assert (report.batches, report.rows, report.finished) == (1, 5, False)
    assert world.published() == {T: list(range(5))}
    rest = world.run()
    assert (rest.rows, rest.finished) == (7, True)


def test_what_comes_after_the_first_look_is_landed_from_its_beginning() -> None:
    """However empty the cluster was then: "latest" is about what was there at the start."""
    world = World()
    world.run()
    world.grow(T, 4)
    world.starts[T] = 4
    assert world.run().rows == 4


@pytest.mark.parametrize("is_known", [True, False])
def test_a_partition_that_is_seen_later_does_not_keep_a_run_from_its_end(*, is_known: bool) -> None:
    """It is landed up to where it ended when it was first seen, though it grows for ever."""
    later, looks = TopicPartition("u", 0), 0
    world = World()
    world.grow(T, 1)
    if is_known:
        world.grow(later, 4)
    world.run()
    there = world.latest.pop(later, 0)  # nobody leads it

    def write(point: str) -> None:
        nonlocal looks
        if point == "look":
            looks += 1
            assert looks < 20, "it does not end"
            world.grow(T, 3)
            if looks > 1:
                world.latest[later] = there
                world.grow(later, 3 * (looks - 1))

    world.at = write
    report = world.run(max_offsets=2)
    assert report.finished
    assert report.positions == {T: 4, later: there + 3}


def test_data_loss_stops_it_before_anything_is_written() -> None:
    """And goes on, with the loss on record, if that is wanted."""
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


def test_what_is_lost_between_plan_and_reading_is_told_as_what_was_before() -> None:
    """With the range and the flag; the plan stays, and is landed without it if that is wanted."""
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


def test_a_topic_that_was_made_anew_is_refused() -> None:
    """Its offsets are others'; nothing is written."""
    world = drained()
    world.latest[T] = 3
    with pytest.raises(DrainError, match="t-0 ends at 3, but was landed up to 12"):
        world.run()


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_a_topic_that_was_created_again_is_refused_though_its_log_is_longer(
    *, fail_on_data_loss: bool
) -> None:
    """Nothing is landed of it, and nothing committed; the error names it."""
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


def test_a_topic_that_is_not_known_any_more_is_remembered() -> None:
    """While ZooKeeper is away nobody says; what was known stays in the plans."""
    world = World()
    world.created = {"t": "czxid:5"}
    world.grow(T, 12)
    world.run()
    world.created = {}
    world.grow(T, 3)
    assert world.run().rows == 3
    world.created = {"t": "id:77"}  # of another kind: says nothing
    world.grow(T, 3)
    assert world.run().rows == 3
    world.created = {"t": "czxid:9"}
    world.grow(T, 3)
    world.run()  # the id is what is known now
    world.created = {"t": "czxid:a"}
    with pytest.raises(DrainError, match="recreated"):
        world.run()


@pytest.mark.parametrize(
    ("moment", "published"),
    [("/plans/", []), (".parquet", []), ("/batches/", list(range(5)))],
    ids=["planned", "being read", "landed"],
)
def test_a_topic_that_is_created_again_amid_a_batch(moment: str, published: list[int]) -> None:
    """What was planned is not published; what was landed is, and is not committed for another."""
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


def test_nothing_is_committed_for_topics_that_are_gone() -> None:
    """Brokers refuse such offsets, which would hold up the others for good."""
    other = TopicPartition("u", 0)
    world = drained()
    world.grow(other, 3)
    del world.latest[T]
    world.committed.clear()
    world.run()
    assert world.committed == {other: 3}


def test_a_batch_of_a_killed_run_is_committed_before_anything_is_looked_at() -> None:
    """Its own partitions only: those before it were committed with their own batches."""
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
def test_who_loses_a_batch_to_another_drain_is_told_so(*, is_landed: bool) -> None:
    """The other one deletes what was staged: that nobody is to look for, or to restore."""
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
    """Without them nobody knows what was landed."""
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
    """One path, one drain; the flag that differs is named."""
    other = replace(IDENTITY, **change)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=named):
        refuse_another("/lake", IDENTITY, other)


def test_the_same_cluster_may_be_called_by_other_hosts() -> None:
    """One address in common is enough."""
    refuse_another("/lake", IDENTITY, replace(IDENTITY, cluster="zk2:2181, zk1:2181/"))
    assert DrainIdentity.from_bytes("drain.json", IDENTITY.to_bytes()) == IDENTITY


def test_a_path_with_files_of_others_is_refused() -> None:
    """Whoever reads it would take them for what was landed; nothing is written."""
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
    """A store that does not know the condition of a put."""

    def create(self, path: str, data: bytes) -> bool:
        """See ``Storage``: always, whatever was there."""
        self.content.pop(path, None)
        return super().create(path, data)


@pytest.mark.parametrize("is_begun", [True, False])
def test_a_store_that_replaces_is_refused_before_anything_is_written(*, is_begun: bool) -> None:
    """Also where the drain began elsewhere: a bucket may have moved."""
    world = drained() if is_begun else World()
    world.grow(T, 3)
    before = dict(world.storage.content)
    world.storage = ReplacingStorage()
    world.storage.content |= before
    with pytest.raises(ConfigError, match=r"the store replaces .*If-None-Match"):
        world.run()
    assert world.storage.content == before


def test_an_identity_that_is_there_is_read_before_one_is_written() -> None:
    """What is there decides, whatever a store makes of a second one."""
    world = drained()
    points: list[str] = []
    world.at = points.append
    world.run()
    assert f"read {layout.IDENTITY}" in points
    assert f"before create {layout.IDENTITY}" not in points


def test_what_can_not_be_drained_does_not_claim_the_path() -> None:
    """A topic or an address that was mistyped can be mended, and the same path used."""

    def fail(point: str) -> None:
        if point == "look":
            raise ConfigError("subscribe: no topic tt")

    world = World(fail)
    with pytest.raises(ConfigError, match="no topic"):
        world.run()
    assert world.storage.content == {}


class Began(Watch):
    """Records the batches that began."""

    def __init__(self) -> None:
        self.numbers: list[int] = []

    def on_landing(self, plan: BatchPlan) -> None:
        """See ``Watch``."""
        self.numbers.append(plan.number)


def test_a_batch_that_is_still_to_be_published_begins_again() -> None:
    """So that one that takes long over it is reported as any slow batch."""

    def kill(point: str) -> None:
        if point.startswith("before commit"):
            raise Killed

    world, watch = World(kill), Began()
    world.grow(T, 4)
    with pytest.raises(Killed):
        world.run(watch=watch)
    world.at = lambda _point: None
    world.run(watch=watch)
    assert watch.numbers == [1, 1]
