"""``zkconsumer topics`` on a cluster in memory."""

import json
from collections.abc import Iterator

import pytest

from tests.support.opened_cluster import opening
from tests.support.status_world import StatusWorld
from zkconsumer.cli import topics
from zkconsumer.cli.main import main
from zkconsumer.wire.api import ApiKey

SICK = "/brokers/topics/sick"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """Two brokers; partition 0 of topic ``sick`` has no leader, partition 1 lacks a replica."""
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
    """The command; gives its exit status."""
    return main(["topics", "--zookeeper", "zk", *flags])


def test_a_list(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """With what is wrong; no broker is asked."""
    assert run() == 0
    assert capsys.readouterr().out.splitlines() == [
        "TOPIC  PARTITIONS  REPLICAS  SETTINGS           NOTE",
        "sick            2         2                     "
        "marked for deletion; 1 without leader; 2 under-replicated",
        "t               2         1  retention.ms=1000",
    ]
    assert not any(world.cluster.requested(api) for api in ApiKey)


@pytest.mark.usefixtures("world")
def test_a_description(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a partition; only of topics whose whole name matches."""
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
def test_what_is_wrong_shows_in_the_exit_status(
    capsys: pytest.CaptureFixture[str], flags: list[str], found: list[int]
) -> None:
    """For checks in scripts; the original ends with 0 whatever it finds."""
    assert run(*flags, "--json") == (3 if found else 0)
    reported = json.loads(capsys.readouterr().out)["topics"]
    assert [
        partition["partition"] for topic in reported for partition in topic["partitions"]
    ] == found
    assert run(*flags, "--format", "scala") == 0


@pytest.mark.usefixtures("world")
def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    """Which is said, rather than nothing."""
    assert run("under-replicated", "--topic", "t") == 0
    assert capsys.readouterr().out == "no partition is under-replicated\n"


def test_what_is_not_there_or_not_read_is_not_well(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is misspelt; a topic of which nobody knows what it has."""
    assert run("under-replicated", "--topic", "tt") == 2
    assert capsys.readouterr().out == ""
    world.tree.write("/brokers/topics/t", b"garbage")
    assert run("under-replicated", "--topic", "t") == 1
    printed = capsys.readouterr()
    assert "no partition" not in printed.out
    assert "topic t: " in printed.err


@pytest.mark.usefixtures("world")
def test_settings_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    """As the original tells them: without partitions."""
    assert run("--describe", "--topics-with-overrides", "--format", "scala") == 0
    reported = capsys.readouterr().out
    assert reported == "Topic:t\tPartitionCount:2\tReplicationFactor:1\tConfigs:retention.ms=1000\n"


@pytest.mark.usefixtures("world")
def test_leaders(capsys: pytest.CaptureFixture[str]) -> None:
    """Who leads how much, and what nobody leads; with brokers that are gone."""
    assert run("leaders") == 0
    assert capsys.readouterr().out.splitlines() == [
        "BROKER  ADDRESS  LEADS  PREFERRED  REPLICAS  NOT IN SYNC  NOTE",
        "     0  b0:9092      1          3         3            2",
        "     1  b1:9092      2          1         2            0",
        "without a leader: 1 partition",
    ]


def test_a_broker_that_is_gone_is_named(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its partitions are not available, whatever their nodes say."""
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
def test_wishes_that_contradict_each_other(flags: list[str]) -> None:
    """Are wrong usage."""
    assert run(*flags) == 2
