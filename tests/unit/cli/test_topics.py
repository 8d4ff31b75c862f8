"""``zkconsumer topics`` with a cluster in memory."""

import json
from collections.abc import Iterator

import pytest

from tests.support.opened_cluster import opening
from tests.support.status_world import StatusWorld
from zkconsumer.cli import topic_changes, topics
from zkconsumer.cli.main import main
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import BrokerGeneration

SICK = "/brokers/topics/sick"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """Partition 0 of topic ``sick`` has no leader, partition 1 lacks a replica."""
    world = StatusWorld()
    monkeypatch.setattr(topics, "open_cluster", opening(world))
    world.tree.write("/brokers/topics/sick", b'{"version":1,"partitions":{"0":[0],"1":[0,1]}}')
    state = b'{"controller_epoch":1,"leader":%d,"version":1,"leader_epoch":0,"isr":[%s]}'
    world.tree.write(f"{SICK}/partitions/0/state", state % (-1, b""))
    world.tree.write(f"{SICK}/partitions/1/state", state % (1, b"1"))
    world.tree.write("/config/topics/t", b'{"version":1,"config":{"retention.ms":"1000"}}')
    world.tree.write("/admin/delete_topics/sick", b"")
    yield world
    world.close()


def run(*flags: str) -> int:
    """Run the command and return its exit status."""
    return main(["topics", "--zookeeper", "zk", *flags])


def test_the_list_shows_topics_with_their_problems(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is read from ZooKeeper alone, without a request to a broker."""
    assert run() == 0
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC  PARTITIONS  REPLICAS  SETTINGS           NOTE",
        "sick            2         2                     "
        "marked for deletion; 1 without leader; 2 under-replicated",
        "t               2         1  retention.ms=1000",
    ]
    assert not any(world.cluster.requested(api) for api in ApiKey)


@pytest.mark.usefixtures("world")
def test_the_description_has_a_row_per_partition(capsys: pytest.CaptureFixture[str]) -> None:
    """Filters match whole topic names."""
    assert run("describe", "--topic", "si.*,x") == 0
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC  PARTITION  LEADER  REPLICAS  IN SYNC  NOTE",
        "sick           0       -  0         -        no leader",
        "sick           1       1  0,1       1        under-replicated: not in sync: 0",
    ]
    assert run("--describe", "--topic", "ic") == 2
    assert "no topic matches 'ic'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "found"),
    [
        (["under-replicated"], [0, 1]),
        (["--describe", "--under-replicated-partitions"], [0, 1]),
        (["--unavailable-partitions"], [0]),
        (["describe", "--unavailable", "--topic", "t"], []),
    ],
)
@pytest.mark.usefixtures("world")
def test_problems_show_in_the_exit_status(
    capsys: pytest.CaptureFixture[str], flags: list[str], found: list[int]
) -> None:
    """Scripts can check it; with the original's format the status is always 0."""
    assert run(*flags, "--json") == (3 if found else 0)
    reported = json.loads(capsys.readouterr().out)["topics"]
    assert [
        partition["partition"] for topic in reported for partition in topic["partitions"]
    ] == found
    assert run(*flags, "--format", "scala") == 0


@pytest.mark.usefixtures("world")
def test_the_absence_of_problems_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    """One line says so, rather than no output."""
    assert run("under-replicated", "--topic", "t") == 0
    assert capsys.readouterr().out == "no partition is under-replicated\n"


def test_an_unknown_or_unreadable_topic_is_an_error(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A misspelt or unreadable topic must not look healthy."""
    assert run("under-replicated", "--topic", "tt") == 2
    assert capsys.readouterr().out == ""
    world.tree.write("/brokers/topics/t", b"garbage")
    assert run("under-replicated", "--topic", "t") == 1
    printed = capsys.readouterr()
    assert "no partition" not in printed.out
    assert "topic t: " in printed.err


@pytest.mark.usefixtures("world")
def test_topics_with_overrides_are_listed_without_partitions(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The output equals the original's."""
    assert run("--describe", "--topics-with-overrides", "--format", "scala") == 0
    reported = capsys.readouterr().out
    assert reported == "Topic:t\tPartitionCount:2\tReplicationFactor:1\tConfigs:retention.ms=1000\n"


@pytest.mark.usefixtures("world")
def test_leaders_are_counted_by_broker(capsys: pytest.CaptureFixture[str]) -> None:
    """Partitions without a leader are counted below the table."""
    assert run("leaders") == 0
    assert capsys.readouterr().out.splitlines() == [
        "BROKER  ADDRESS  LEADS  PREFERRED  REPLICAS  NOT IN SYNC  NOTE",
        "     0  b0:9092      1          3         3            2",
        "     1  b1:9092      2          1         2            0",
        "without a leader: 1 partition",
    ]


def test_an_unregistered_broker_is_shown(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its partitions are unavailable, whatever their state nodes say."""
    world.tree.delete("/brokers/ids/1")
    assert run("leaders", "--json") == 0
    reported = json.loads(capsys.readouterr().out)
    assert [broker["registered"] for broker in reported["brokers"]] == [True, False]
    assert run("--unavailable", "--topic", "t") == 3
    assert "its leader, broker 1, is not registered" in capsys.readouterr().out


@pytest.mark.parametrize(
    "flags",
    [
        ["list", "--describe"],
        ["list", "--under-replicated"],
        ["under-replicated", "--unavailable"],
        ["leaders", "--format", "scala"],
        ["--topic", "("],
    ],
)
@pytest.mark.usefixtures("world")
def test_contradictory_flags_are_refused(flags: list[str]) -> None:
    """The exit status is 2."""
    assert run(*flags) == 2


@pytest.mark.parametrize(
    ("node", "why"),
    [(None, "it was deleted meanwhile"), (b"[]", "JSON, but a list instead of an object")],
)
def test_a_topic_that_is_deleted_before_it_grows(
    world: StatusWorld,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    node: bytes | None,
    why: str,
) -> None:
    """Where partitions are written to ZooKeeper none are, and the command says why."""
    for broker in world.cluster.brokers:
        broker.become(BrokerGeneration.V0_9)

    def confirm(_sentence: str, topic: str, _yes: bool) -> bool:
        world.tree.delete(f"/brokers/topics/{topic}")
        if node is not None:
            world.tree.write(f"/brokers/topics/{topic}", node)
        return True

    monkeypatch.setattr(topic_changes, "open_cluster", opening(world))
    monkeypatch.setattr(topic_changes, "confirm", confirm)
    assert run("alter", "--topic", "t", "--partitions", "9") == 1
    assert capsys.readouterr().err == (f"zkconsumer: topic t did not get more partitions: {why}\n")
