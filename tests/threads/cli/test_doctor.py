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
    """A healthy cluster with a group that has read everything; pauses only advance the clock."""
    world = StatusWorld()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor, "open_cluster", opening(world))
    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", world.clock.advance)
    world.tree.write("/controller", b'{"version":1,"brokerid":0,"timestamp":"9"}')
    settle(world)
    yield world
    world.close()


def settle(world: StatusWorld, group: str = "g") -> MemoryZkStore:
    """Join a group that owns and has read everything, and return its member's session."""
    session = world.tree.join_as(group, MEMBER, GHOST_DATA)
    for tp in (T0, T1):
        world.tree.own(group, *tp, f"{MEMBER}-0", session)
        world.tree.commit(group, *tp, b"100")
    return session


def call(*flags: str) -> int:
    """Run the doctor, and return its exit status."""
    return main(["doctor", "--zookeeper", "zk:2181/chroot", *flags])


def reported(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return the printed report as JSON."""
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def codes(found: dict[str, Any]) -> list[object]:
    """Return the codes of the findings."""
    return [finding["code"] for finding in found["findings"]]


def add_stale_member(world: StatusWorld) -> None:
    """Add a registration that nobody will ever delete, with a partition that nobody reads."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    world.tree.disown("g", *T1)


def node(world: StatusWorld, path: str) -> bytes | None:
    """Return the data of a node, or None."""
    found = world.tree.store.get_many([path])[0]
    return None if found is None else found.data


@pytest.mark.usefixtures("world")
def test_a_healthy_cluster_has_no_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """One snapshot is enough; the command prints one line and exits with 0."""
    assert call() == 0
    assert capsys.readouterr() == ("nothing wrong; examined 1 group\n", "")


def test_a_finding_is_explained(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """It names evidence and remedy; a group that may still be moving is read twice."""
    add_stale_member(world)
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


def test_a_terminal_shows_findings_so_far_and_the_time_left(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first snapshot's findings are listed by title, above a countdown of the wait."""
    add_stale_member(world)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert call() == 3
    err = capsys.readouterr().err
    assert "zkconsumer: so far: ERROR  g is stuck: gone is registered but gone\n" in err
    left = [int(seconds) for seconds in re.findall(r"\rat most (\d+) s left", err)]
    assert left[0] == 30
    assert left == sorted(left, reverse=True)
    assert err.endswith("\r")


def test_a_member_that_left_meanwhile_is_not_called_stale(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its session ended after the group was read; a member that is still registered is stale."""
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


def test_a_closed_pipe_does_not_change_the_outcome(
    world: StatusWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """If the reader stops early, the exit status and the repairs are the same."""
    add_stale_member(world)
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


def test_a_quick_run_says_what_it_is_not_sure_of(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes one snapshot, and lists the groups that may still be moving."""
    add_stale_member(world)
    assert call("--quick", "--json") == 3
    found = reported(capsys)
    assert found["snapshot_interval_ms"] is None
    assert found["unsure"] == ["zookeeper group g: is rebalancing"]
    assert (found["groups"], found["sessions_known"]) == (1, False)
    stale = next(finding for finding in found["findings"] if finding["code"] == "member-stale")
    assert (stale["severity"], stale["group"], stale["kind"]) == ("error", "g", "zookeeper")
    fix = stale["fix"]
    assert isinstance(fix, dict)
    assert fix["writes"] == [{"path": GHOST_PATH, "action": "delete", "data": None}]


def test_the_wait_ends_when_a_group_has_settled(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read every five seconds, and is healthy once its rebalance is over."""
    session = settle(world, "h")
    world.tree.disown("h", *T1)
    waited: list[int] = []

    def wait(ms: int) -> None:
        world.clock.advance(ms)
        waited.append(ms)
        if sum(waited) == 5_000:
            world.tree.own("h", *T1, f"{MEMBER}-0", session)

    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", wait)
    assert call() == 0
    assert sum(waited) == 5_000
    assert capsys.readouterr().out == "nothing wrong; examined 2 groups, twice, 5 s apart\n"


def test_paused_commits_are_diagnosed_after_a_commit_interval(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The doctor waits longer than members do between two commits, which an option tells."""
    world.tree.commit("g", *T0, b"40")
    assert call("--json") == 3
    found = reported(capsys)
    assert (codes(found), found["snapshot_interval_ms"]) == (["commits-paused"], 75_000)
    assert call("--json", "--commit-interval-ms", "4000") == 3
    assert reported(capsys)["snapshot_interval_ms"] == 5_000


def test_one_group_is_examined(world: StatusWorld, capsys: pytest.CaptureFixture[str]) -> None:
    """Other groups and topics that it does not read are left out; problems of its topics count."""
    add_stale_member(world)
    settle(world, "h")
    world.tree.write("/brokers/topics/other", b"garbage")
    assert call("--json", "--group", "h") == 0
    assert reported(capsys)["groups"] == 1
    world.tree.write("/brokers/topics/t/partitions/0/state", b'{"leader":-1,"isr":[]}')
    assert call("--json", "--group", "h", "--quick") == 3
    assert "leader-missing" in codes(reported(capsys))
    assert call("--group", "nobody") == 2
    assert "there is no group nobody" in capsys.readouterr().err


def test_a_repair_can_be_undone(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """All repairs are made, nodes that become empty are deleted, and undoing restores both."""
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


def test_each_repair_needs_a_yes(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was confirmed at the terminal is done."""
    add_stale_member(world)
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


def test_without_a_terminal_repairs_need_an_option(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise nothing is repaired, and the cluster is not even read."""
    add_stale_member(world)
    assert call("--fix") == 2
    assert call("--yes") == 2
    assert call("--fix", "--undo", "x") == 2
    out, err = capsys.readouterr()
    assert (out, err.count("zkconsumer: ")) == ("", 3)
    assert node(world, GHOST_PATH) == GHOST_DATA


def test_the_exit_status_says_that_all_is_repaired(world: StatusWorld) -> None:
    """It is 0 then; a run without repairs writes no undo file."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    world.tree.own("g", "u", 0, f"{GHOST}-0")
    assert call("--quick") == 3
    assert call("--quick", "--fix", "--yes", "--undo-file", "a") == 0
    assert call("--quick", "--fix", "--yes", "--undo-file", "b") == 0
    assert not Path("b").exists()


def test_a_node_that_changed_meanwhile_is_left(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changed after the finding: it is named, and there is nothing to undo."""
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


def test_a_name_with_a_bidi_override_is_escaped_in_a_refused_repair(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic whose offsets were left over exists again, so they are kept."""
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


def test_an_existing_undo_file_is_not_overwritten(world: StatusWorld) -> None:
    """Nothing is repaired if the undo file can't be written."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    Path("undo.json").write_text("mine")
    assert call("--quick", "--fix", "--yes", "--undo-file", "undo.json") == 2
    assert call("--quick", "--fix", "--yes", "--undo-file", "no/such/folder") == 1
    assert Path("undo.json").read_text() == "mine"
    assert node(world, GHOST_PATH) == GHOST_DATA


def test_an_undo_file_does_not_follow_links(world: StatusWorld) -> None:
    """Who can write to the folder can't make the command write elsewhere."""
    add_stale_member(world)
    Path("undo.json.new").symlink_to("victim")
    Path("dangling.json").symlink_to("victim")
    assert call("--quick", "--fix", "--yes", "--undo-file", "dangling.json") == 2
    call("--quick", "--fix", "--yes", "--undo-file", "undo.json")
    assert Path("undo.json").is_file()
    assert not Path("victim").exists()


def test_an_unsuitable_undo_file_is_refused(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is missing, is no undo file, or belongs to another cluster."""
    world.tree.write(GHOST_PATH, GHOST_DATA)
    call("--quick", "--fix", "--yes", "--undo-file", "undo.json")
    Path("bytes").write_bytes(b"\xff")
    for name, status in (("none", 1), ("bytes", 2)):
        assert call("--undo", name, "--yes") == status
    assert main(["doctor", "--zookeeper", "zk:2181/b", "--undo", "undo.json", "--yes"]) == 2
    assert "undo.json undoes repairs of zk:2181/chroot" in capsys.readouterr().err
    assert node(world, GHOST_PATH) is None


def test_a_zookeeper_that_is_away_is_one_line(
    world: StatusWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, and nothing goes to standard output."""
    world.tree.server.disconnect(world.tree.store.session_id)
    assert call("--timeout-ms", "300") == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("zkconsumer: the cluster can't be read: ")


def test_the_wait_can_be_interrupted(
    world: StatusWorld, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After Ctrl-C between two snapshots nothing is printed, and nothing was repaired."""
    add_stale_member(world)

    def interrupt(ms: int) -> None:
        raise KeyboardInterrupt(ms)

    monkeypatch.setattr("zkconsumer.cli.live.wait_ms", interrupt)
    assert call("--fix", "--yes") == 130
    assert capsys.readouterr().out == ""
    assert node(world, GHOST_PATH) == GHOST_DATA


@pytest.mark.usefixtures("world")
def test_obstacles_to_an_upgrade_are_findings(capsys: pytest.CaptureFixture[str]) -> None:
    """They come with steps, and with a finding for what the brokers do not reveal."""
    assert call("--ready-for", "4.0", "--json") == 3
    found = reported(capsys)
    assert found["ready_for"]["release"] == "4.0"
    assert found["ready_for"]["ready"] is False
    (mirror,) = found["ready_for"]["paths"]  # the only path if the current release is not known
    assert (mirror["method"], mirror["steps"][0][:8]) == ("mirror", "Find out")
    codes = {finding["code"] for finding in found["findings"]}
    assert {"ready-zookeeper-groups", "ready-clients", "ready-not-seen"} <= codes
    assert call("--ready-for", "4.0") == 3
    assert "Upgrade path to 4.0, by a mirror:\n1. Find out the release" in capsys.readouterr().out
    assert call("--ready-for", "4.0", "--fix", "--yes") == 2
    for flags in (("--jmx", "h:1"), ("--metrics-url", "http://h:1/"), ("--request-log", "x")):
        assert call(*flags) == call("--ready-for", "3.9", *flags) == 2
