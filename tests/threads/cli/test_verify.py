"""``zkconsumer verify`` on a cluster in memory."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.opened_cluster import opening
from tests.support.scripted_broker import ScriptedAction
from tests.support.status_world import MEMBER, StatusWorld
from zkconsumer.cli import verify
from zkconsumer.cli.main import main


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """A cluster with a group ``g`` in which each partition has its owner."""
    world = StatusWorld()
    world.zookeeper_group()
    monkeypatch.setattr(verify, "open_cluster", opening(world))
    yield world
    world.close()


def run(*flags: str) -> int:
    """Run the command, and return its exit status."""
    return main(["verify", "--zookeeper.connect", "zk", *flags])


@pytest.mark.usefixtures("world")
def test_a_sound_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Both assignors would have assigned its partitions the same way."""
    assert run("--group", "g", "--strategy", "range") == 0
    assert capsys.readouterr().out.splitlines() == [
        "it is assigned as by range",
        "it is assigned as by roundrobin",
        "zookeeper group g: successful: 2 partitions, 0 faults, 1 member",
    ]
    assert run("--group", "g", "--format", "scala") == 0
    assert capsys.readouterr().out == "Rebalance operation successful !\n"


def test_a_partition_without_owner_is_a_fault(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is printed, and decides the exit status, except in the original's format."""
    world.tree.disown("g", "t", 1)
    assert run("--group", "g") == 3
    assert capsys.readouterr().out.splitlines()[:3] == [
        "PARTITION  FAULT           OWNER",
        "t-1        nobody owns it  -",
        "range would assign it differently: 1 differ: t-1",
    ]
    assert run("--group", "g", "--format", "scala") == 0
    assert capsys.readouterr().out == "Rebalance operation failed !\n"
    assert run("--group", "g", "--json") == 3
    [reported] = json.loads(capsys.readouterr().out)["groups"]
    assert reported["sound"] is False
    assert reported["faults"][0]["fault"] == "unowned"


def test_a_sound_group_with_another_assignment(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails only if the caller names the assignor to compare with."""
    other = "g_i-1400000000000-1a2b3c4d"
    session = world.tree.join("g", other, {"t": 1})
    world.tree.disown("g", "t", 0)
    world.tree.own("g", "t", 0, f"{other}-0", session)
    assert run("--group", "g") == 0
    assert run("--group", "g", "--strategy", "range") == 3
    assert "not as by range" in capsys.readouterr().out


def test_all_groups_are_verified(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """There is a line for each group with members; groups without members are left out."""
    world.tree.commit("empty", "t", 0, b"1")
    world.tree.join("sick", MEMBER.replace("g_", "sick_"), {"t": 1})
    assert run() == 3
    assert capsys.readouterr().out.splitlines() == [
        "GROUP  KIND       PARTITIONS  FAULTS  ASSIGNED BY       VERDICT",
        "g      zookeeper           2       0  range roundrobin  successful",
        "sick   zookeeper           2       2  -                 failed",
    ]


@pytest.mark.usefixtures("world")
def test_contradictory_arguments_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """So are a group that does not exist, and all groups in the original's format."""
    assert run("--group", "h") == 2
    assert "there is no group h" in capsys.readouterr().err
    assert run("--format", "scala") == 2


def test_a_name_that_can_not_be_encoded_does_not_break_a_report(
    world: StatusWorld, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A lone surrogate can be written in JSON, but has no encoding."""
    world.tree.write(
        "/consumers/g/ids/g_x",
        rb'{"version":1,"subscription":{"\ud800":1},"pattern":"static","timestamp":"1400000000000"}',
    )
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        assert run("--group", "g", "--json") == 0
    [reported] = json.loads(path.read_text(encoding="utf-8"))["groups"]
    assert reported["missing_topics"] == ["\ud800"]
    assert capfd.readouterr().err == ""


def test_a_group_without_members_is_not_called_successful(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A caller who names it expects it to read."""
    world.tree.commit("old", "t", 0, b"1")
    assert run("--group", "old") == 3
    assert capsys.readouterr().out == (
        "zookeeper group old: it has no members, so there is nothing to verify\n"
    )
    assert run("--group", "old", "--json") == 3
    [reported] = json.loads(capsys.readouterr().out)["groups"]
    assert (reported["sound"], reported["well"]) == (True, False)
    assert run("--group", "old", "--format", "scala") == 0
    assert run() == 0


def test_groups_that_can_not_be_listed_fail_the_verification(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker that does not list its groups may have faulty ones."""
    world.cluster.actions[1] = ScriptedAction.CLOSE
    assert run("--timeout-ms", "500") == 1
    assert "groups of broker 1" in capsys.readouterr().err
