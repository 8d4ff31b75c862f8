"""Partial reads of a few groups: what is requested and shown, and what a full read keeps."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.scripted_broker import ScriptedAction, ScriptedResponse
from tests.support.scripted_cluster import END_OFFSET
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import MEMBER, T0, T1, StatusWorld
from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode
from zkconsumer.scope import ThreadScope
from zkconsumer.status.doctor.sightings import is_beyond
from zkconsumer.status.lag import OffsetPlacement, placement_of
from zkconsumer.status.model import ClusterSnapshot, GroupKey, GroupKind, GroupState
from zkconsumer.status.reading import reader_state
from zkconsumer.status.reading.assembly import assemble
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.codec import RequestFrame

G = GroupKey(GroupKind.ZOOKEEPER, "g")
H = GroupKey(GroupKind.ZOOKEEPER, "h")
C = GroupKey(GroupKind.COORDINATOR, "c")
SHORT_MS = 300
LONG_MS = 10_000
ROUNDS = 40


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A world for each test."""
    made = StatusWorld()
    yield made
    made.close()


def failing(snapshot: ClusterSnapshot) -> dict[str, str]:
    """Return the reasons of the parts that could not be read."""
    return {failure.part: failure.reason for failure in snapshot.failures}


def offsets(snapshot: ClusterSnapshot, key: GroupKey) -> list[dict[str, int]]:
    """Return the committed offsets by storage, partition by partition."""
    return [
        {entry.storage: entry.offset for entry in partition.committed}
        for partition in snapshot.groups[key].partitions
    ]


def test_the_first_partial_read_reads_everything(world: StatusWorld) -> None:
    """There is no snapshot so far to take the rest from."""
    world.zookeeper_group()
    snapshot = world.reader().read_groups([G])
    assert [topic.name for topic in snapshot.topics] == ["t"]
    assert snapshot.groups[G].state is GroupState.STABLE


def test_a_partial_read_during_which_the_clock_is_set_back_is_dropped(world: StatusWorld) -> None:
    """Its times would lie ahead; the next partial read counts."""
    world.zookeeper_group()
    reader = world.reader()
    reader.read()
    world.clock.advance(SHORT_MS)
    world.tree.commit("g", *T0, b"41")
    partial_read = reader._selected.read

    def read_meanwhile(*plan: Any) -> Any:
        found = partial_read(*plan)
        world.clock.set_back(3_600_000)
        reader.read()
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reader._selected, "read", read_meanwhile)
        snapshot = reader.read_groups([G])
    assert snapshot.groups[G].seen_ms == world.clock.wall_ms() == snapshot.taken_ms
    world.clock.advance(SHORT_MS)
    world.tree.commit("g", *T0, b"42")
    assert offsets(reader.read_groups([G]), G)[0] == {"zookeeper": 42}


def test_a_partial_read_reads_only_the_given_group(world: StatusWorld) -> None:
    """Its members, owners, offsets and log ends are read; other groups keep their age."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.zookeeper_group("h")
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 7})
    reader = world.reader()
    before = reader.read()
    requested = {api: len(world.cluster.requested(api)) for api in ApiKey}
    world.clock.advance(1_000)
    world.tree.commit("g", *T0, b"41")
    world.tree.commit("h", *T0, b"41")
    world.tree.disown("g", *T1)
    snapshot = reader.read_groups([G])
    now_ms = world.clock.wall_ms()
    assert snapshot.taken_ms == now_ms
    assert snapshot.groups[G].state is GroupState.REBALANCING
    assert snapshot.groups[G].seen_ms == now_ms
    assert offsets(snapshot, G)[0] == {"zookeeper": 41}
    assert {partition.log_at_ms for partition in snapshot.groups[G].partitions} == {now_ms}
    assert [partition.offsets_at_ms for partition in snapshot.topics[1].partitions] == [now_ms] * 2
    assert snapshot.groups[H] == before.groups[H]
    assert snapshot.groups[C] == before.groups[C]
    assert list(snapshot.groups) == list(before.groups)
    more = {api: len(world.cluster.requested(api)) - number for api, number in requested.items()}
    # Two requests, for log start and log end offsets, to each of the two leaders.
    assert more[ApiKey.LIST_OFFSETS] == 4
    assert {more[api] for api in (ApiKey.LIST_GROUPS, ApiKey.OFFSET_FETCH, ApiKey.METADATA)} == {0}


def test_a_coordinator_s_group_is_read_again(world: StatusWorld) -> None:
    """Its description, offsets and log ends are requested."""
    world.topic(OFFSETS_TOPIC)
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}}, offsets={T1: 7})
    reader = world.reader()
    reader.read()
    listed = len(world.cluster.requested(ApiKey.LIST_GROUPS))
    world.clock.advance(1_000)
    world.groups["c"] = ScriptedGroup(
        1, members={"m": {"t": (0,)}, "n": {"t": (1,)}}, offsets={T0: 1, T1: 8}
    )
    group = (snapshot := reader.read_groups([C])).groups[C]
    assert [partition.owner for partition in group.partitions] == ["m", "n"]
    assert offsets(snapshot, C) == [{"kafka": 1}, {"kafka": 8}]
    assert group.seen_ms == world.clock.wall_ms()
    assert {partition.log_end for partition in group.partitions} == {END_OFFSET}
    assert len(world.cluster.requested(ApiKey.LIST_GROUPS)) == listed


def test_a_zookeeper_group_s_offsets_in_kafka_are_read_again(world: StatusWorld) -> None:
    """Their coordinator gets a request, too."""
    world.topic(OFFSETS_TOPIC)
    world.zookeeper_group()
    world.groups["g"] = ScriptedGroup(1, listed=False, offsets={T0: 41})
    reader = world.reader()
    reader.read()
    world.groups["g"] = ScriptedGroup(1, listed=False, offsets={T0: 42})
    assert offsets(reader.read_groups([G]), G)[0] == {"zookeeper": 40, "kafka": 42}


def test_groups_that_appear_and_vanish(world: StatusWorld) -> None:
    """A new group is shown and a deleted one is not; one that never existed is no failure."""
    world.zookeeper_group()
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader()
    reader.read()
    world.zookeeper_group("h")
    world.tree.delete("/consumers/g")
    world.groups["c"] = ScriptedGroup(1, state="Dead", members={})
    unknown = [GroupKey(GroupKind.ZOOKEEPER, name) for name in ("nobody", "a/b")]
    snapshot = reader.read_groups([G, H, C, *unknown, GroupKey(GroupKind.COORDINATOR, "nobody")])
    assert list(snapshot.groups) == [H]
    assert failing(snapshot) == {}
    assert next(iter(reader.read().groups)) == H


def test_while_zookeeper_is_away_the_group_keeps_its_age(world: StatusWorld) -> None:
    """It is shown as it was, with the reason; once ZooKeeper is back it is read again."""
    world.zookeeper_group()
    reader = world.reader(selected_ms=SHORT_MS)
    before = reader.read()
    world.tree.server.disconnect(world.tree.store.session_id)
    world.clock.advance(1_000)
    snapshot = reader.read_groups([G])
    assert list(failing(snapshot)) == ["group g, read again"]
    assert snapshot.groups[G].seen_ms == before.taken_ms
    assert {partition.log_at_ms for partition in snapshot.groups[G].partitions} == {
        world.clock.wall_ms()
    }
    world.tree.server.reconnect(world.tree.store.session_id)
    assert failing(reader.read_groups([G])) == {}
    assert reader.read_groups([G]).groups[G].seen_ms == world.clock.wall_ms()


def test_the_failure_of_a_partial_read_expires(world: StatusWorld) -> None:
    """A later full read drops it, since there may be no other partial read."""
    world.zookeeper_group()
    reader = world.reader()
    reader.read()
    world.tree.server.disconnect(world.tree.store.session_id)
    assert failing(reader.read_groups([G]))
    world.tree.server.reconnect(world.tree.store.session_id)
    assert failing(reader.read())
    world.clock.advance(10_000)
    assert failing(reader.read()) == {}


def test_a_broker_that_hangs_does_not_delay_partial_reads(world: StatusWorld) -> None:
    """Its partitions keep their age, others are current; after a full read it is not awaited."""
    world.zookeeper_group()
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader(selected_ms=SHORT_MS, brokers_ms=SHORT_MS)
    before = reader.read()
    world.cluster.actions[1] = ScriptedAction.SILENCE
    world.clock.advance(1_000)
    snapshot = reader.read_groups([G, C])
    zero, one = snapshot.groups[G].partitions
    assert (zero.log_at_ms, one.log_at_ms) == (world.clock.wall_ms(), before.taken_ms)
    assert list(failing(snapshot)) == ["group c, read again"]
    assert "b1:9092" in str(snapshot.topics[0].partitions[1].problem)
    reader.read()
    lists = len(world.cluster.brokers[1].requested(ApiKey.LIST_OFFSETS))
    reader.read_groups([G, C])
    assert len(world.cluster.brokers[1].requested(ApiKey.LIST_OFFSETS)) == lists


def test_a_coordinator_that_moved_is_a_failure(world: StatusWorld) -> None:
    """The next full read looks it up."""
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader()
    before = reader.read()
    world.groups["c"] = ScriptedGroup(
        1, error=ErrorCode.NOT_COORDINATOR, members={"m": {"t": (0, 1)}}
    )
    snapshot = reader.read_groups([C])
    assert "NOT_COORDINATOR" in failing(snapshot)["group c, read again"]
    assert snapshot.groups[C].members == before.groups[C].members


def test_a_commit_after_the_log_end_was_read_is_not_beyond_it(world: StatusWorld) -> None:
    """The log has grown since then, so whether the offset lies beyond it is unknown."""
    world.zookeeper_group()
    reader = world.reader(selected_ms=LONG_MS)
    reader.read()
    broker, answered = world.cluster.brokers[0], threading.Event()
    response, ends = broker.response, 0

    def answer(frame: RequestFrame) -> ScriptedResponse | None:
        nonlocal ends
        reported = response(frame)
        if frame.api_key is ApiKey.LIST_OFFSETS:
            ends += 1
            if ends == 2:  # first the log start offsets, then the log end offsets
                world.clock.advance(1)
                answered.set()
        return reported

    def commit_meanwhile(paths: Sequence[str]) -> None:
        if "/consumers/g/offsets/t" in paths:
            assert answered.wait(LONG_MS / 1000)
            world.tree.commit("g", *T0, b"%d" % (END_OFFSET + 1))

    broker.response, world.tree.client.before = answer, commit_meanwhile
    group = reader.read_groups([G]).groups[G]
    assert (group.partitions[0].log_end, group.partitions[0].committed[0].offset) == (
        END_OFFSET,
        END_OFFSET + 1,
    )
    assert placement_of(group.kind, group.partitions[0]) is OffsetPlacement.UNKNOWN
    assert not is_beyond(group.partitions[0], group.partitions[0].committed[0])


def test_an_overwritten_owner_is_noticed(world: StatusWorld) -> None:
    """It is at once, although no node was created or deleted."""
    world.zookeeper_group()
    reader = world.reader()
    reader.read()
    for number in (7, 8):
        world.tree.write("/consumers/g/owners/t/0", f"{MEMBER}-{number}".encode())
        assert reader.read_groups([G]).groups[G].partitions[0].owner == f"{MEMBER}-{number}"


def read_partially_later(world: StatusWorld, reader: SnapshotReader) -> None:
    """Commit an offset a second later, and read the group."""
    world.clock.advance(1_000)
    world.tree.commit("g", *T0, b"50")
    assert offsets(reader.read_groups([G]), G)[0] == {"zookeeper": 50}


def assert_shows_partial_read(snapshot: ClusterSnapshot, world: StatusWorld) -> None:
    """Check that the snapshot shows the result of that partial read."""
    assert snapshot.groups[G].seen_ms == world.clock.wall_ms()
    assert offsets(snapshot, G)[0] == {"zookeeper": 50}


def test_a_partial_read_during_a_full_read_is_kept(world: StatusWorld) -> None:
    """The full read read the group before it, and publishes after it."""
    world.zookeeper_group()
    reader = world.reader()
    reader.read()
    broker = world.cluster.brokers[0]
    response = broker.response

    def answer_after_a_partial_read(frame: RequestFrame) -> ScriptedResponse | None:
        broker.response = response
        wait_until(
            lambda: bool(reader._zookeeper._groups_part._reported._items),
            what="the groups to be read",
        )
        read_partially_later(world, reader)
        return response(frame)

    broker.response = answer_after_a_partial_read
    assert_shows_partial_read(reader.read(), world)


def test_a_partial_read_while_a_snapshot_is_assembled_is_kept(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The full read's parts were taken before it, and its snapshot is shown after it."""
    world.zookeeper_group()
    reader = world.reader()
    reader.read()

    def assemble_after_a_partial_read(*args: Any, **options: Any) -> ClusterSnapshot:
        read_partially_later(world, reader)
        return assemble(*args, **options)

    monkeypatch.setattr(reader_state, "assemble", assemble_after_a_partial_read)
    assert_shows_partial_read(reader.read(), world)


def test_concurrent_full_and_partial_reads_never_go_back(world: StatusWorld) -> None:
    """Whichever ends first, later snapshots never show older values."""
    world.zookeeper_group()
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0, 1)}})
    reader = world.reader(selected_ms=LONG_MS, brokers_ms=LONG_MS)
    reader.read()
    seen: list[ClusterSnapshot] = []
    scope = ThreadScope("reading")

    def read() -> None:
        for _ in range(ROUNDS):
            reader.read()

    scope.spawn("read", read, stop=lambda: None)
    for number in range(ROUNDS):
        world.tree.commit("g", *T0, b"%d" % number)
        world.clock.advance(1)
        seen.append(reader.read_groups([G, C]))
    assert scope.close(LONG_MS) == []
    assert scope.first_error() is None
    assert [offsets(cluster_snapshot, G)[0]["zookeeper"] for cluster_snapshot in seen] == list(
        range(ROUNDS)
    )
    times = [cluster_snapshot.groups[G].seen_ms for cluster_snapshot in seen]
    assert times == sorted(times)
    assert {cluster_snapshot.failures for cluster_snapshot in seen} == {()}


def test_a_group_of_the_new_protocol_is_read_again(world: StatusWorld) -> None:
    """It needs ConsumerGroupDescribe, since DescribeGroups calls it dead."""
    world.groups["c"] = ScriptedGroup(1, members={"m": {"t": (0,)}}, type="consumer")
    reader = world.reader()
    reader.read()
    world.groups["c"] = ScriptedGroup(1, members={"n": {"t": (0, 1)}}, type="consumer")
    snapshot = reader.read_groups([C])
    assert [member.member_id for member in snapshot.groups[C].members] == ["n"]
    del world.groups["c"]
    world.groups["c"] = ScriptedGroup(1, state="Dead", members={})
    assert C not in reader.read_groups([C]).groups
