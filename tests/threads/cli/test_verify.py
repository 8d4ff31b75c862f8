"""``zkconsumer verify`` on a cluster in memory."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.opened_cluster import opening
from tests.support.spoken_broker import Word
from tests.support.status_world import MEMBER, StatusWorld
from zkconsumer.cli import verify
from zkconsumer.cli.main import main


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StatusWorld]:
    """A sound group ``g``."""
    world = StatusWorld()
    world.zookeeper_group()
    monkeypatch.setattr(verify, "open_cluster", opening(world))
    yield world
    world.close()


def run(*flags: str) -> int:
    """The command; gives its exit status."""
    return main(["verify", "--zookeeper.connect", "zk", *flags])


@pytest.mark.usefixtures("world")
def test_a_sound_group(capsys: pytest.CaptureFixture[str]) -> None:
    """Of which both assignors would have made the same."""
    assert run("--group", "g", "--strategy", "range") == 0
    assert capsys.readouterr().out.splitlines() == [
        "it is assigned as by range",
        "it is assigned as by roundrobin",
        "zookeeper group g: successful: 2 partitions, 0 faults, 1 member",
    ]
    assert run("--group", "g", "--format", "scala") == 0
    assert capsys.readouterr().out == "Rebalance operation successful !\n"


def test_a_fault(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """In words, and in the exit status, but for the original's format."""
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


def test_sound_but_shared_out_otherwise(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only who names an assignor asks for that."""
    other = "g_i-1400000000000-1a2b3c4d"
    session = world.tree.join("g", other, {"t": 1})
    world.tree.disown("g", "t", 0)
    world.tree.own("g", "t", 0, f"{other}-0", session)
    assert run("--group", "g") == 0
    assert run("--group", "g", "--strategy", "range") == 3
    assert "not as by range" in capsys.readouterr().out


def test_all_groups(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """A line for each that has members; those without read nothing."""
    world.tree.commit("empty", "t", 0, b"1")
    world.tree.join("sick", MEMBER.replace("g_", "sick_"), {"t": 1})
    assert run() == 3
    assert capsys.readouterr().out.splitlines() == [
        "GROUP  KIND       PARTITIONS  FAULTS  ASSIGNED BY       VERDICT",
        "g      zookeeper           2       0  range roundrobin  successful",
        "sick   zookeeper           2       2  -                 failed",
    ]


@pytest.mark.usefixtures("world")
def test_wrong_wishes(capsys: pytest.CaptureFixture[str]) -> None:
    """No such group; the original's sentence for all groups."""
    assert run("--group", "h") == 2
    assert "there is no group h" in capsys.readouterr().err
    assert run("--format", "scala") == 2


def test_no_name_fails_a_report(
    world: StatusWorld, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Half a surrogate pair can be written in JSON, and in no encoding."""
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


def test_a_group_that_nobody_is_in(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Is not called successful: whoever asks for it wants it to read."""
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


def test_what_can_not_be_seen_is_not_called_fine(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broker whose groups are not known may have sick ones."""
    world.cluster.words[1] = Word.CLOSE
    assert run("--timeout-ms", "500") == 1
    assert "groups of broker 1" in capsys.readouterr().err
