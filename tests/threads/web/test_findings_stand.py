"""The page of a cluster whose leaders are late or away: a diagnosis stays until it is refuted."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.manual_clock import ManualClock
from tests.support.scripted_cluster import END_OFFSET
from tests.support.scripted_groups import ScriptedGroup
from tests.support.status_world import T0, T1, StatusWorld
from zkconsumer.error_codes import ErrorCode
from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.status.model import GroupKey, GroupKind, GroupPartition
from zkconsumer.status.reading.coordinators import OFFSETS_TOPIC
from zkconsumer.status.reading.snapshot import SnapshotReader
from zkconsumer.web.pages.formatting import Tone
from zkconsumer.web.pages.group_rows import Verdict, group_row
from zkconsumer.web.publishing import Publisher

BEYOND = GroupKey(GroupKind.COORDINATOR, "beyond")
WELL = GroupKey(GroupKind.COORDINATOR, "well")


@pytest.fixture
def world() -> Iterator[StatusWorld]:
    """A group that committed beyond the end of a log, and one without lag."""
    with closing(StatusWorld()) as found:
        found.topic(OFFSETS_TOPIC)
        reads = {"m": {"t": (0, 1)}}
        for key, offset in ((BEYOND, END_OFFSET + 7), (WELL, END_OFFSET)):
            offsets = {T0: offset, T1: END_OFFSET}
            found.groups[key.group_id] = ScriptedGroup(1, members=reads, offsets=offsets)
        yield found


class Watched:
    """A cluster that is read in full and group by group in turn, once a second."""

    def __init__(self, world: StatusWorld) -> None:
        self.clock: ManualClock = world.clock
        self.reader: SnapshotReader = world.reader()
        self.publisher = Publisher("zk:2181", 1_000, lambda _state, _rebalances: None, self.clock)
        self.reads_done = 0

    def next_read(self, pass_ms: int = 1_000) -> None:
        """Read once more: the whole cluster, or the two groups alone."""
        self.clock.advance(pass_ms)
        self.reads_done += 1
        if self.reads_done % 2:
            self.publisher.publish(self.reader.read(), read_ms=1)
        else:
            self.publisher.publish_groups(self.reader.read_groups([BEYOND, WELL]), [BEYOND, WELL])

    def verdict(self, key: GroupKey) -> Verdict:
        """Return the page's verdict on a group."""
        return group_row(self.publisher.current, key).verdict

    def codes(self, key: GroupKey) -> set[Code]:
        """Return the codes of the doctor's findings on a group."""
        return {it.code for it in self.publisher.current.judgements.findings(key)}

    def partition(self, key: GroupKey) -> GroupPartition:
        """Return a group's state of partition 0."""
        return self.publisher.current.snapshot.groups[key].by_partition[T0]

    def found(self) -> str:
        """Return the evidence of the offset beyond the end; "" if there is no such finding."""
        findings = self.publisher.current.judgements.findings(BEYOND)
        seen = [it.evidence[0] for it in findings if it.code is Code.OFFSET_BEYOND_END]
        return seen[0] if seen else ""


def test_findings_stand_while_a_leader_is_away(world: StatusWorld) -> None:
    """They do for minutes, in both kinds of reads; a healthy group is "not read" meanwhile."""
    watched = Watched(world)
    for _ in range(4):
        watched.next_read()
    assert watched.found()
    well = watched.verdict(WELL)
    leader = world.cluster.brokers[0]
    leader.down = True
    leader.break_all()
    for _ in range(40):
        watched.next_read(10_000)
        assert watched.found(), watched.reads_done
    assert watched.found().endswith("the log ends at 100, as read 6 min ago")
    assert watched.verdict(WELL).word == "not read"
    leader.down = False
    for _ in range(2):
        watched.next_read()
    assert watched.found()
    assert watched.verdict(WELL) == well


def test_a_finding_stands_while_an_offset_is_refused(world: StatusWorld) -> None:
    """The partition's last known offset is shown with its age, beside the error."""
    watched = Watched(world)
    for _ in range(4):
        watched.next_read()
    found, unmoved = watched.found(), watched.partition(BEYOND)
    assert found
    refused = -int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    for name in ("beyond", "well"):
        group = world.groups[name]
        world.groups[name] = replace(group, offsets={**group.offsets, T0: refused})
    for _ in range(40):
        watched.next_read(10_000)
        shown = watched.partition(BEYOND)
        assert "TOPIC_AUTHORIZATION_FAILED" in str(shown.problem)
        assert shown.committed == unmoved.committed
        assert watched.found(), watched.reads_done
        assert Code.PARTITION_PROBLEM in watched.codes(BEYOND)
        assert watched.verdict(BEYOND).diagnosis is not None
        assert watched.verdict(BEYOND).tone is Tone.BAD
    assert watched.partition(WELL).committed[0].offset == END_OFFSET
    assert watched.verdict(WELL).word == "warning"


def test_a_finding_ends_with_its_cause(world: StatusWorld) -> None:
    """It is gone after the next read of the offset."""
    watched = Watched(world)
    for _ in range(2):
        watched.next_read()
    assert watched.found()
    world.groups["beyond"] = world.groups["well"]
    watched.next_read()
    assert not watched.found()
