"""``zkconsumer assign plan`` with and without a cluster."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from zkconsumer.cli import assign
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.status.model import (
    ClusterSnapshot,
    GroupKind,
    GroupPartition,
    GroupStatus,
    MemberStatus,
    PartFailure,
    PartitionStatus,
    TopicStatus,
)

ZOOKEEPER = GroupStatus(
    group_id="g",
    kind=GroupKind.ZOOKEEPER,
    seen_ms=0,
    members=(MemberStatus(member_id="g_a", streams={"t": 1}),),
    partitions=tuple(GroupPartition(TopicPartition("t", n), "g_a-0") for n in range(4)),
)
COORDINATED = GroupStatus(
    group_id="c",
    kind=GroupKind.COORDINATOR,
    seen_ms=0,
    protocol="roundrobin",
    members=(MemberStatus(member_id="m-1", streams={"t": 1, "u": 1}),),
)


def topic(name: str, count: int) -> TopicStatus:
    """Build a topic with ``count`` partitions."""
    partitions = tuple(
        PartitionStatus(topic_partition=TopicPartition(name, number), leader=0)
        for number in range(count)
    )
    return TopicStatus(name=name, seen_ms=0, partitions=partitions)


SNAPSHOT = ClusterSnapshot(
    taken_ms=0,
    zookeeper_connect="zk",
    topics=(topic("t", 4), topic("u", 2)),
    groups={group_status.key: group_status for group_status in (ZOOKEEPER, COORDINATED)},
    failures=(PartFailure(part="groups of broker 7", reason="no answer", since_ms=0),),
)


@pytest.fixture(autouse=True)
def cluster(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Commands see the snapshot; returns the servers that were connected to."""
    opened: list[str] = []

    @contextmanager
    def open_cluster(args: SimpleNamespace) -> Iterator[SimpleNamespace]:
        opened.append(args.zookeeper)

        def snapshot(first: Sequence[str]) -> ClusterSnapshot:
            assert first == [args.group]
            return SNAPSHOT

        yield SimpleNamespace(snapshot=snapshot)

    monkeypatch.setattr(assign, "open_cluster", open_cluster)
    return opened


def plan(*flags: str, group: str = "g") -> int:
    """Plan with the cluster and return the exit status."""
    return main(["assign", "plan", "--zookeeper", "zk:2181", "--group", group, *flags])


def test_the_plan_shows_what_a_new_member_takes_over(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Parts of the snapshot that could not be read are reported on standard error."""
    assert plan("--members", "2") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "READER             NOW  THEN  PARTITIONS",
        "g_a-0              4    2     t:0-1",
        "g_new-001-0 (new)  -    2     t:2-3",
        "note: ids of new members are invented; with real ones the order may differ, so that "
        "the same shares go to other readers",
        "group g: 2 partitions per reader; 2 would change hands",
    ]
    assert "groups of broker 7: no answer" in printed.err
    assert cluster == ["zk:2181"]


def test_the_plan_may_assume_more_streams_and_partitions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Streams per member and the partition count of a topic can be overridden."""
    assert plan("--streams", "3", "--topic", "t:6", "--json") == 0
    readers = json.loads(capsys.readouterr().out)["readers"]
    assert [(reader["reader"], len(reader["partitions"])) for reader in readers] == [
        ("g_a-0", 2),
        ("g_a-1", 2),
        ("g_a-2", 2),
    ]


def test_a_coordinator_group_is_planned_with_its_own_strategy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The group's own strategy applies unless another is given."""
    assert plan("--members", "2", "--json", group="c") == 0
    readers = json.loads(capsys.readouterr().out)["readers"]
    assert readers[0]["partitions"] == [["t", 0], ["t", 2], ["u", 0]]
    assert plan("--members", "2", "--strategy", "range", "--json", group="c") == 0
    readers = json.loads(capsys.readouterr().out)["readers"]
    assert readers[0]["partitions"] == [["t", 0], ["t", 1], ["u", 0]]


def test_a_group_that_does_not_exist_can_be_planned(
    cluster: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """With partition counts on the command line no cluster is needed."""
    assert plan("--members", "2", "--topic", "t", group="new") == 0
    assert "there is no group new yet" in capsys.readouterr().err
    words = ["assign", "plan", "--group", "new", "--topic", "orders:3", "--members", "2"]
    assert main([*words, "--streams", "2"]) == 0
    assert "idle: 1 of 4 readers would get nothing" in capsys.readouterr().out
    assert cluster == ["zk:2181"]


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (["--group", "other"], "--group is given twice, g and other: give it once"),
        (["--topic", "nope"], "the cluster has no topic nope: give TOPIC:N"),
        (["--members", "9999", "--streams", "9999"], "too many to plan"),
        (["--members", "0"], "'0' is not a number of at least 1"),
        (["--members", "x"], "'x' is not a number of at least 1"),
        (["--topic", "a/b"], "'a/b' can't be the name of a topic"),
        (["--topic", "t:-1"], "'-1' is not a number of at least 1"),
    ],
)
def test_invalid_arguments_are_refused(
    capsys: pytest.CaptureFixture[str], flags: list[str], reported: str
) -> None:
    """The exit status is 2, whether the parser or the planner notices it."""
    try:
        status = plan(*flags)
    except SystemExit as end:
        status = int(end.code or 0)
    assert status == 2
    assert reported in capsys.readouterr().err


@pytest.mark.parametrize(
    ("group", "flags", "reported"),
    [
        ("slip", [], "there is no group slip"),
        ("new", ["--topic", "t"], "group new has no members now: give their number"),
        ("c", ["--streams", "2"], "members of a coordinator's group have no streams"),
    ],
)
def test_arguments_that_do_not_fit_the_group_are_refused(
    capsys: pytest.CaptureFixture[str], group: str, flags: list[str], reported: str
) -> None:
    """The exit status is 2, and the error says what the group lacks."""
    assert plan(*flags, group=group) == 2
    assert reported in capsys.readouterr().err


def test_without_a_cluster_the_counts_are_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a cluster every topic needs its partition count."""
    for topics in ([], ["--topic", "t"], ["--topic", "t:3", "--topic", "u"]):
        assert main(["assign", "plan", "--group", "g", "--members", "1", *topics]) == 2
        assert "without a cluster" in capsys.readouterr().err


def test_a_strategy_of_another_kind_of_group_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """The exit status is 3, with the reason."""
    assert plan("--members", "2", "--strategy", "sticky") == 3
    assert "sticky is not a strategy of ZooKeeper groups" in capsys.readouterr().err
