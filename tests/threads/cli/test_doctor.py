"""``zkconsumer doctor`` on a cluster in memory: what it prints, waits for, and does."""

import json
import os
import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.memory_zk import MemoryZkStore
from tests.support.group_tree import NODES_MS
from tests.support.opened_cluster import opening
from tests.support.status_world import T0, T1, StatusWorld
from zkconsumer.cli.doctor import command as doctor
from zkconsumer.cli.doctor import report as doctor_report
from zkconsumer.cli.main import main
from zkconsumer.status.reading.deadline import Deadline
from zkconsumer.zk.nodes import Registration, encode_registration

MEMBER = "one"
GHOST = "gone"
GHOST_PATH = f"/consumers/g/ids/{GHOST}"
GHOST_DATA = encode_registration(Registration(subscription={"t": 1}, timestamp_ms=NODES_MS))
LEFT = "/consumers/g/offsets/dropped/0"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[StatusWorld]:
    """A healthy cluster with a group that has read everything; whoever waits does so at once."""
    world = StatusWorld()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "open_cluster", opening(world))
    monkeypatch.setattr(doctor, "wait_ms", world.clock.advance)
    world.tree.write("/controller", b'{"version":1,"brokerid":0,"timestamp":"9"}')
    settle(world)
    yield world
    world.close()


def settle(world: StatusWorld, group: str = "g") -> MemoryZkStore:
    """A group that has all, and has read all; gives its member's session."""
    session = world.tree.join_as(group, MEMBER, GHOST_DATA)
    for tp in (T0, T1):
        world.tree.own(group, *tp, f"{MEMBER}-0", session)
        world.tree.commit(group, *tp, b"100")
    return session


def call(*flags: str) -> int:
    """The exit status."""
    return main(["doctor", "--zookeeper", "zk:2181/chroot", *flags])


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What it found, as JSON."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def codes(found: dict[str, Any]) -> list[object]:
    """The kinds of findings."""
    return [finding["code"] for finding in found["findings"]]


def haunt(world: StatusWorld) -> None:
    """A registration that nobody will ever take away, and whose share nobody reads."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    world.tree.disown("g", *T1)


def node(world: StatusWorld, path: str) -> bytes | None:
    """What it holds."""
    found = world.tree.store.get_many([path])[0]
    return None if found is None else found.data


@pytest.mark.usefixtures("world")
def test_nothing_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """One look, one line, 0."""
    assert call() == 0
    assert capsys.readouterr() == ("nothing wrong; examined 1 group\n", "")


def test_a_finding_in_words(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """What it is, what was seen, what helps; where something could move it looks twice."""
    haunt(world)
    assert call() == 3
    out, err = capsys.readouterr()
    assert out.startswith(
        "ERROR  g is stuck: gone is registered but gone\n"
        "  member-stale, zookeeper group g\n"
        "  1 member of the group is"
    )
    assert f"\n    - {GHOST_PATH}: a persistent node, which" in out
    assert "\n  What helps: Check on its host that the process is gone." in out
    assert "\n  --fix offers to delete 1 registration of group g.\n" in out
    assert "It was the same 30 s before." in out
    assert out.endswith("; examined 1 group, twice, 30 s apart\n")
    assert err == (
        "zkconsumer: taking a second snapshot within 30 s (--quick takes only one): "
        "zookeeper group g is rebalancing\n"
    )
    assert node(world, GHOST_PATH) == GHOST_DATA


def test_who_waits_at_a_terminal_sees_what_is_known_and_how_long_it_takes(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The findings of the first look by their headings, and one line that counts down."""
    haunt(world)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert call() == 3
    err = capsys.readouterr().err
    assert "zkconsumer: so far: ERROR  g is stuck: gone is registered but gone\n" in err
    left = [int(seconds) for seconds in re.findall(r"\rat most (\d+) s left", err)]
    assert left[0] == 30
    assert left == sorted(left, reverse=True)
    assert err.endswith("\r")


def test_who_left_meanwhile_is_not_called_dead(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Between the reading of the group and the list of sessions; who stays in it, is."""
    session = settle(world, "h")
    dead = settle(world, "k")

    def alive(_deadline: Deadline) -> frozenset[int]:
        session.close(1_000)
        return frozenset({world.tree.store.session_id})

    world.sessions = alive
    assert call("--quick", "--json", "--group", "h", "--group", "k") == 3
    found = reported(capsys)
    assert found["sessions_known"]
    assert {(finding["group"], finding["code"]) for finding in found["findings"]} >= {
        ("k", "member-stale")
    }
    assert {finding["code"] for finding in found["findings"] if finding["group"] == "h"} <= {
        "group-abandoned"
    }
    dead.close(1_000)


def test_a_closed_pipe_makes_nobody_well(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Who reads the first lines alone still gets the exit status, and the repairs."""
    haunt(world)
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        assert call("--quick") == 3
    assert node(world, GHOST_PATH) == GHOST_DATA
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        call("--quick", "--fix", "--yes", "--undo-file", str(tmp_path / "undo"))
    assert node(world, GHOST_PATH) is None


def test_a_quick_look(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """It says of whom it is not sure."""
    haunt(world)
    assert call("--quick", "--json") == 3
    found = reported(capsys)
    assert found["looks_apart_ms"] is None
    assert found["unsure"] == ["zookeeper group g: is rebalancing"]
    assert (found["groups"], found["sessions_known"]) == (1, False)
    stale = next(finding for finding in found["findings"] if finding["code"] == "member-stale")
    assert (stale["severity"], stale["group"], stale["kind"]) == ("error", "g", "zookeeper")
    fix = stale["fix"]
    assert isinstance(fix, dict)
    assert fix["writes"] == [{"path": GHOST_PATH, "action": "delete", "data": None}]


def test_who_moves_is_not_waited_for(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A look every five seconds; a group that has settled by then is well."""
    session = settle(world, "h")
    world.tree.disown("h", *T1)
    waited: list[int] = []

    def wait(ms: int) -> None:
        world.clock.advance(ms)
        waited.append(ms)
        if sum(waited) == 5_000:
            world.tree.own("h", *T1, f"{MEMBER}-0", session)

    monkeypatch.setattr(doctor, "wait_ms", wait)
    assert call() == 0
    assert sum(waited) == 5_000
    assert capsys.readouterr().out == "nothing wrong; examined 2 groups, twice, 5 s apart\n"


def test_offsets_that_stand_still(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """It waits longer than members take between two commits; and less if they commit more often."""
    world.tree.commit("g", *T0, b"40")
    assert call("--json") == 3
    found = reported(capsys)
    assert (codes(found), found["looks_apart_ms"]) == (["commits-paused"], 75_000)
    assert call("--json", "--commit-interval-ms", "4000") == 3
    assert reported(capsys)["looks_apart_ms"] == 5_000


def test_one_group(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Others, and topics that it does not read, are not its matter; what it reads is."""
    haunt(world)
    settle(world, "h")
    world.tree.write("/brokers/topics/other", b"garbage")
    assert call("--json", "--group", "h") == 0
    assert reported(capsys)["groups"] == 1
    world.tree.write("/brokers/topics/t/partitions/0/state", b'{"leader":-1,"isr":[]}')
    assert call("--json", "--group", "h", "--quick") == 3
    assert "leader-missing" in codes(reported(capsys))
    assert call("--group", "nobody") == 2
    assert "there is no group nobody" in capsys.readouterr().err


def test_a_repair_and_its_undoing(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All of it is done, what followed from it goes with it, and all comes back."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    world.tree.commit("g", "dropped", 0, b"5")
    assert call("--quick", "--fix", "--yes", "--undo-file", "undo.json") == 0
    err = capsys.readouterr().err
    assert f"deleted: {GHOST_PATH}\n" in err
    assert f"deleted: {LEFT}\n" in err
    assert err.endswith("zkconsumer doctor --undo undo.json undoes what was done\n")
    assert (node(world, GHOST_PATH), node(world, LEFT)) == (None, None)
    assert call("--quick") == 0
    world.tree.delete("/consumers/g/offsets/dropped")
    capsys.readouterr()
    assert call("--undo", "undo.json") == 2
    assert "give --yes" in capsys.readouterr().err
    assert node(world, LEFT) is None
    assert call("--undo", "undo.json", "--yes") == 0
    assert (node(world, GHOST_PATH), node(world, LEFT)) == (GHOST_DATA, b"5")
    assert call("--undo", "undo.json", "--yes") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["undo.json"]


def test_each_repair_is_asked_about(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was said yes to is done; a terminal answers."""
    haunt(world)
    world.tree.commit("g", "dropped", 0, b"5")
    responses = StringIO("yes\nno\n")
    responses.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", responses)
    assert call("--quick", "--fix") == 3
    err = capsys.readouterr().err
    assert (
        f"    delete {GHOST_PATH}\n  Before you say yes: A member that is deleted but alive" in err
    )
    assert (node(world, GHOST_PATH), node(world, LEFT)) == (None, b"5")


def test_nobody_to_ask(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Then nothing is done, and nothing is looked at."""
    haunt(world)
    assert call("--fix") == 2
    assert call("--yes") == 2
    assert call("--fix", "--undo", "x") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("zkconsumer: ")) == ("", 3)
    assert node(world, GHOST_PATH) == GHOST_DATA


def test_all_is_repaired(world: StatusWorld) -> None:
    """Then the exit status says so."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    world.tree.own("g", "u", 0, f"{GHOST}-0")
    assert call("--quick") == 3
    assert call("--quick", "--fix", "--yes", "--undo-file", "a") == 0
    assert call("--quick", "--fix", "--yes", "--undo-file", "b") == 0
    assert not Path("b").exists()


def test_what_changed_meanwhile_is_left(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the yes: it is named, and there is nothing to undo."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    on_snapshot = doctor_report.as_text

    def meanwhile(*args: object, **options: bool) -> str:
        world.tree.write(GHOST_PATH, b"other")
        return on_snapshot(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(doctor, "as_text", meanwhile)
    assert call("--quick", "--fix", "--yes", "--undo-file", "undo.json") == 3
    assert f"left unchanged: {GHOST_PATH}: it now holds 'other'\n" in capsys.readouterr().err
    assert node(world, GHOST_PATH) == b"other"
    assert not Path("undo.json").exists()


def test_a_name_that_turns_text_around_is_escaped_where_nothing_is_done(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic whose offsets were left over is there again."""
    world.tree.commit("g", "dropped\u202e", 0, b"5")
    on_snapshot = doctor_report.as_text

    def meanwhile(*args: object, **options: bool) -> str:
        world.tree.write("/brokers/topics/dropped\u202e", b"{}")
        return on_snapshot(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(doctor, "as_text", meanwhile)
    assert call("--quick", "--fix", "--yes", "--undo-file", "undo.json") == 0
    err = capsys.readouterr().err
    assert "nothing was done: /brokers/topics/dropped\\u202e exists by now\n" in err
    assert "\u202e" not in err


def test_an_undo_file_that_is_there(world: StatusWorld) -> None:
    """It is not written over, and nothing is done without one."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    Path("undo.json").write_text("mine")
    assert call("--quick", "--fix", "--yes", "--undo-file", "undo.json") == 2
    assert call("--quick", "--fix", "--yes", "--undo-file", "no/such/folder") == 1
    assert Path("undo.json").read_text() == "mine"
    assert node(world, GHOST_PATH) == GHOST_DATA


def test_links_in_the_place_of_an_undo_file(world: StatusWorld) -> None:
    """Who can write to the folder can't have us write elsewhere."""
    haunt(world)
    Path("undo.json.new").symlink_to("victim")
    Path("dangling.json").symlink_to("victim")
    assert call("--quick", "--fix", "--yes", "--undo-file", "dangling.json") == 2
    call("--quick", "--fix", "--yes", "--undo-file", "undo.json")
    assert Path("undo.json").is_file()
    assert not Path("victim").exists()


def test_undoing_something_else(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, no such file, a file of another cluster."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    call("--quick", "--fix", "--yes", "--undo-file", "undo.json")
    Path("bytes").write_bytes(b"\xff")
    for name, status in (("none", 1), ("bytes", 2)):
        assert call("--undo", name, "--yes") == status
    assert main(["doctor", "--zookeeper", "zk:2181/b", "--undo", "undo.json", "--yes"]) == 2
    assert "undo.json undoes repairs of zk:2181/chroot" in capsys.readouterr().err
    assert node(world, GHOST_PATH) is None


def test_zookeeper_that_is_away(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, and 1."""
    world.tree.server.disconnect(world.tree.store.session_id)
    assert call("--timeout-ms", "300") == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("zkconsumer: the cluster can't be read: ")


def test_who_waits_can_be_interrupted(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C between two looks: no findings, and nothing was done."""
    haunt(world)

    def interrupt(ms: int) -> None:
        raise KeyboardInterrupt(ms)

    monkeypatch.setattr(doctor, "wait_ms", interrupt)
    assert call("--fix", "--yes") == 130
    assert capsys.readouterr().out == ""
    assert node(world, GHOST_PATH) == GHOST_DATA


@pytest.mark.usefixtures("world")
def test_what_stands_in_the_way_of_another_release(capsys: pytest.CaptureFixture[str]) -> None:
    """As findings with the steps; what brokers did not tell is said."""
    assert call("--ready-for", "4.0", "--json") == 3
    found = reported(capsys)
    assert found["ready_for"]["release"] == "4.0"
    assert found["ready_for"]["ready"] is False
    (mirror,) = found["ready_for"]["ways"]  # no release is known
    assert (mirror["way"], mirror["steps"][0][:8]) == ("mirror", "Find out")
    codes = {finding["code"] for finding in found["findings"]}
    assert {"ready-zookeeper-groups", "ready-clients", "ready-not-seen"} <= codes
    assert call("--ready-for", "4.0") == 3
    assert "The way to 4.0, by a mirror:\n1. Find out the release" in capsys.readouterr().out
    assert call("--ready-for", "4.0", "--fix", "--yes") == 2
    for flags in (("--jmx", "h:1"), ("--metrics-url", "http://h:1/"), ("--request-log", "x")):
        assert call(*flags) == call("--ready-for", "3.9", *flags) == 2
