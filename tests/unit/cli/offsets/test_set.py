"""``zkconsumer offsets set`` on a cluster in memory."""

import io
import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fakes.fake_terminal import FakeTerminal
from tests.support.offset_cluster import MemoryCluster
from zkconsumer.cli.main import main
from zkconsumer.cli.offsets import set_, undo
from zkconsumer.errors import RegistryError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import Offset, OffsetStorage
from zkconsumer.offsets.migration.roll_back import decode_roll_backs

A, B, GONE = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("gone", 0)
U = TopicPartition("u", 0)
ZK, KAFKA = OffsetStorage.ZOOKEEPER, OffsetStorage.KAFKA


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> MemoryCluster:
    """Group ``g`` has offsets in ZooKeeper; we are in an empty folder."""
    cluster = MemoryCluster({A: (10, 50), B: (0, 20), U: (5, 9)})
    cluster.hold("g", ZK, {A: 30, B: 5})
    for module in (set_, undo):
        monkeypatch.setattr(module, "open_offsets", cluster.open)
    monkeypatch.chdir(tmp_path)
    return cluster


def run_set(*flags: str) -> int:
    """Of group ``g``, with these flags; gives the exit status."""
    return main(["offsets", "set", "--zookeeper", "zk:2181", "--group", "g", *flags])


def set_offsets(*flags: str) -> int:
    """The same, without a question."""
    return run_set("--yes", *flags)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--to-earliest"], {A: 10, B: 0}),
        (["--to-latest"], {A: 50, B: 20}),
        (["--shift-by", "-3"], {A: 27, B: 2}),
        (["--shift-by", "1000"], {A: 50, B: 20}),
        (["--to-offset", "12"], {A: 12, B: 12}),
        (["--to-current"], {A: 30, B: 5}),
        (["--to-time", "2026-11-21T20:30"], {A: 44, B: 20}),
        (["--to-latest", "--topic", "t:1"], {A: 30, B: 20}),
        (["--to-earliest", "--topic", "u", "--topic", "t:0"], {A: 10, B: 5, U: 5}),
    ],
)
def test_a_group_is_set(
    cluster: MemoryCluster, flags: list[str], expected: dict[TopicPartition, int]
) -> None:
    """Wherever one wants it; the file brings back what it had."""
    cluster.found = {A: 44}
    assert set_offsets(*flags, "--roll-back-file", "back.json") == 0
    assert cluster.numbers("g", ZK) == expected
    assert cluster.kept["g"][KAFKA].held == {}
    if expected != {A: 30, B: 5}:
        assert main(["offsets", "set", "--roll-back", "back.json"]) == 0
        assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    else:
        assert not Path("back.json").exists()


def test_a_time_is_asked_for_as_it_was_meant(cluster: MemoryCluster) -> None:
    """As an instant, or so long ago; what brokers of segments know is told."""
    assert set_offsets("--to-datetime", "1795293000500", "--dry-run") == 0
    assert cluster.sent_ms == 1_795_293_000_500
    assert set_offsets("--by-duration", "P99999D", "--dry-run") == 0
    assert cluster.sent_ms == 0
    assert set_offsets("--to-time", "yesterday") == 2
    assert set_offsets("--to-time", "1795293000") == 2, "these are seconds"


def test_the_way_back_is_on_the_disk_before_anything_is_written(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Synced, and its folder, too: whatever happens to us in the first write, it is there."""
    events: list[str] = []
    storage = cluster.kept["g"][ZK]
    fsync, write = os.fsync, storage.write

    def synced(descriptor: int) -> None:
        events.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def writing(offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        (back,) = decode_roll_backs(Path("back.json").read_text(), "back.json")
        assert {tp: it and it.offset for tp, (it, _) in back.written.items()} == {A: 30, B: 5}
        events.append("write")
        return write(offsets)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(storage, "write", writing)
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 0
    assert events == ["back.json", Path.cwd().name, "write"]


@pytest.mark.parametrize("name", ["there.json", "no/such/folder.json"])
def test_without_a_way_back_nothing_is_written(cluster: MemoryCluster, name: str) -> None:
    """A file that is there is not overwritten; one that can't be made stops it."""
    Path("there.json").write_text("mine")
    assert set_offsets("--to-latest", "--roll-back-file", name) == 1
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert Path("there.json").read_text() == "mine"


def test_the_table_says_what_was_done(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the command that undoes it."""
    cluster.exact = False
    assert set_offsets("--to-time", "1500000000000", "--roll-back-file", "back.json") == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "PARTITION  LOG START  LOG END  OFFSET  NEW OFFSET  LAG  NEW LAG  RESULT",
        "t-0               10       50      30          50   20        0  set",
        "t-1                0       20       5          20   15        0  set",
        "note: t-0: no record is that new: set to the end of its log",
        "note: t-1: no record is that new: set to the end of its log",
        "note: these brokers know only the times of whole segments: offsets are those of "
        "segment starts, and more is read again than was requested",
        "group g in zookeeper: 2 of 2 offsets written, verified",
        "--roll-back back.json undoes it",
    ]
    assert printed.err == "zkconsumer: --roll-back back.json undoes what follows\n"


def test_a_dry_run_writes_nothing(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not even a file."""
    assert set_offsets("--to-latest", "--dry-run", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["roll_back_file"]) == ("planned", None)
    assert [partition["wanted"] for partition in report["groups"][0]["partitions"]] == [50, 20]
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert list(Path().iterdir()) == []


def test_a_live_group_is_refused_unless_forced(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forced, it is said what its members will do; undoing it wants the same word."""
    cluster.kept["g"][ZK].present = ["g_host-1"]
    assert set_offsets("--to-latest") == 2
    assert "refused: the group has live members: g_host-1" in capsys.readouterr().out
    assert list(Path().iterdir()) == []
    assert set_offsets("--to-latest", "--force", "--roll-back-file", "back.json") == 0
    note = "note: live members will overwrite it with their next commit: g_host-1"
    assert note in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 50, B: 20}
    assert main(["offsets", "set", "--roll-back", "back.json"]) == 2
    assert "stop them first" in capsys.readouterr().err
    assert main(["offsets", "set", "--roll-back", "back.json", "--force"]) == 0
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_a_member_that_comes_late_refuses_it(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing was written, so there is nothing to undo."""
    storage = cluster.kept["g"][ZK]
    snapshots = iter([[], ["m-1"]])
    storage.on_members = lambda: storage.present.__setitem__(slice(None), next(snapshots, ["m-1"]))
    assert set_offsets("--to-latest") == 2
    assert "m-1" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert list(Path().iterdir()) == []


def test_both_places_get_the_same(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Reckoned from the larger; one file brings back what each had."""
    cluster.hold("g", KAFKA, {A: 40})
    assert set_offsets("--shift-by", "-5", "--roll-back-file", "back.json") == 0
    both = {A: 35, B: 0}
    assert (cluster.numbers("g", ZK), cluster.numbers("g", KAFKA)) == (both, both)
    assert capsys.readouterr().out.count("verified") == 2
    assert main(["offsets", "set", "--roll-back", "back.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "done"
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert cluster.kept["g"][KAFKA].held == {A: OffsetAndMetadata(40), B: None}


def test_one_place_can_be_picked(cluster: MemoryCluster) -> None:
    """Also one where the group has none yet."""
    assert set_offsets("--to-offset", "11", "--topic", "t:0", "--storage", "kafka") == 0
    assert cluster.numbers("g", KAFKA) == {A: 11}
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert set_offsets("--to-latest", "--storage", "zookeeper") == 0
    assert cluster.numbers("g", KAFKA) == {A: 11}


def test_what_fails_is_told_partition_by_partition(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit status 1; the other place is not begun, and the file undoes the half."""
    cluster.hold("g", KAFKA, {A: 40})
    cluster.kept["g"][ZK].refused = {B: "somebody wrote it"}
    assert set_offsets("--to-earliest", "--roll-back-file", "back.json") == 1
    out = capsys.readouterr().out
    assert "NOT SET: somebody wrote it; it holds 5" in out
    assert "group g in zookeeper: 1 of 2 offsets written, NOT verified" in out
    assert "NOT begun: earlier writes could not be verified" in out
    assert cluster.numbers("g", KAFKA) == {A: 40}
    assert main(["offsets", "set", "--roll-back", "back.json"]) == 0
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_an_end_of_zookeeper_between_two_places_is_told(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was written before is not hidden by it."""
    cluster.hold("g", KAFKA, {A: 40})
    written = []

    def gone() -> None:
        if cluster.numbers("g", ZK) == {A: 50, B: 20}:
            written.append(1)
        if len(written) > 1:
            raise RegistryError("ZooKeeper does not answer")

    cluster.kept["g"][ZK].on_members = gone
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 1
    out = capsys.readouterr().out
    assert "group g in zookeeper: 2 of 2 offsets written, verified" in out
    assert "doubtful: ZooKeeper does not answer" in out
    assert (
        "t-0               10       50      40          50   10        0  NOT SET: it holds 40"
        in out
    )
    assert Path("back.json").exists()


def test_nothing_that_the_cluster_has_is_no_success(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """A slip in a name, or another cluster's file."""
    Path("f").write_text("tt,0,11\n")
    assert set_offsets("--from-file", "f") == 2
    assert "the cluster has none of these partitions: tt-0: check" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_what_members_call_themselves_moves_no_cursor(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Clients of coordinators may be called anything."""
    cluster.kept["g"][ZK].present = ["\x1b[2J\nm"]
    assert set_offsets("--to-latest") == 2
    assert "members: \\x1b[2J\\nm:" in capsys.readouterr().out
    assert set_offsets("--to-latest", "--force", "--roll-back-file", "b") == 0
    assert main(["offsets", "set", "--roll-back", "b"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_a_lost_answer_is_settled_by_reading(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was written counts, what was not is told."""
    cluster.kept["g"][ZK].fail_after = 1
    assert set_offsets("--to-latest") == 1
    out = capsys.readouterr().out
    assert "1 of 2 offsets written, NOT verified" in out
    assert "NOT SET: the answer was lost; it holds 5" in out


def test_a_member_that_comes_between_two_places_is_told(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file stays: the first place was written."""
    cluster.hold("g", KAFKA, {A: 40})
    storage = cluster.kept["g"][ZK]
    storage.on_write = lambda: storage.present.append("late")
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 1
    assert "doubtful: a member joined meanwhile: late" in capsys.readouterr().out
    assert Path("back.json").exists()
    assert cluster.numbers("g", KAFKA) == {A: 40}


def test_what_somebody_committed_since_is_not_undone(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless forced."""
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 0
    cluster.hold("g", ZK, {A: 49})
    assert main(["offsets", "set", "--roll-back", "back.json"]) == 2
    assert "somebody committed since" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 49, B: 20}
    assert main(["offsets", "set", "--roll-back", "back.json", "--dry-run", "--force"]) == 0
    assert cluster.numbers("g", ZK) == {A: 49, B: 20}
    assert main(["offsets", "set", "--roll-back", "back.json", "--force"]) == 0
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_a_file_says_where_to(cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Of this group or, if it is of one other alone, of that one."""
    Path("f").write_text("t,0,11\nt,1,12\n")
    assert set_offsets("--from-file", "f") == 0
    assert cluster.numbers("g", ZK) == {A: 11, B: 12}
    Path("f").write_text("/consumers/other/offsets/t/0:13\n/consumers/other/offsets/gone/0:1\n")
    assert set_offsets("--from-file", "f") == 0
    assert "gone-0" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 13, B: 12}
    assert set_offsets("--from-file", "f", "--topic", "t") == 2, "the file has nothing of t-1"
    Path("f").write_text("t,0,99\n")
    assert set_offsets("--from-file", "f") == 2
    assert "--outside clamp sets it to 50" in capsys.readouterr().out
    assert set_offsets("--from-file", "f", "--outside", "clamp") == 0
    assert cluster.numbers("g", ZK) == {A: 50, B: 12}
    Path("f").write_bytes(b"\xff\xfe\x00")
    assert set_offsets("--from-file", "f") == 2


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (["--to-latest", "--topic", "nope"], "no topic 'nope'"),
        (["--to-latest", "--topic", "t:x"], "is not TOPIC or TOPIC:PARTITION"),
        (["--to-latest", "--topic", "t", "--all-topics"], "exclude each other"),
        (["--by-duration", "yesterday"], "is not a duration"),
        (["--from-file", "empty"], "empty is empty"),
        (["--roll-back", "empty"], "empty is no roll-back file"),
        (
            ["--roll-back", "back", "--storage", "kafka"],
            "--storage can't be combined with --roll-back",
        ),
        (["--roll-back", "back", "--topic", "t:0"], "--roll-back undoes whole topics"),
    ],
)
def test_wrong_wishes_are_told(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str], flags: list[str], reported: str
) -> None:
    """Exit status 2, in one line; nothing is written."""
    Path("empty").touch()
    assert set_offsets("--to-latest", "--roll-back-file", "back", "--storage", "zookeeper") == 0
    cluster.hold("g", ZK, {A: 30, B: 5})
    capsys.readouterr()
    assert set_offsets(*flags) == 2
    assert reported in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_a_group_without_offsets_needs_a_place(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may be a slip of the pen; and nobody knows where its members look."""
    command = ["offsets", "set", "--zookeeper", "z", "--group", "new", "--to-earliest", "--yes"]
    assert main(command) == 2
    assert "group new has no offsets anywhere: check its name" in capsys.readouterr().err
    assert main([*command, "--storage", "both"]) == 2, "which topics?"
    assert main([*command, "--storage", "both", "--topic", "t"]) == 0
    assert cluster.numbers("new", KAFKA) == cluster.numbers("new", ZK) == {A: 10, B: 0}


def test_group_and_cluster_must_be_named(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for a roll-back, whose file names both."""
    assert main(["offsets", "set", "--to-latest"]) == 2
    assert "missing: --group" in capsys.readouterr().err
    assert set_offsets("--to-latest", "--roll-back-file", "b") == 0
    assert main(["offsets", "set", "--roll-back", "b", "--group", "x"]) == 2
    assert "b is of g, not of x" in capsys.readouterr().err
    assert main(["offsets", "set", "--roll-back", "b"]) == 0
    assert cluster.opened[-1] == "zk:2181"


def test_a_partition_without_a_leader_is_refused_unless_its_offset_is_named(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """And then only with --force."""
    del cluster.logs_of[A]
    assert set_offsets("--to-latest") == 2
    assert "t-0: its leader did not respond" in capsys.readouterr().out
    assert set_offsets("--to-offset", "7", "--topic", "t:0") == 2
    assert set_offsets("--to-offset", "7", "--topic", "t:0", "--force") == 0
    assert cluster.numbers("g", ZK) == {A: 7, B: 5}


def test_who_sits_at_a_terminal_is_shown_the_plan_and_asked(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the group's name is a yes; --yes and --execute are one before, of a script, too."""
    monkeypatch.setattr("sys.stdin", FakeTerminal("y\n"))
    assert run_set("--to-latest") == 2
    told = capsys.readouterr()
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert told.out == ""
    assert "Type g to go on" in told.err
    assert "30" in told.err
    assert "50" in told.err
    assert "nothing was done" in told.err
    monkeypatch.setattr("sys.stdin", FakeTerminal("g\n"))
    assert run_set("--to-latest") == 0
    assert cluster.numbers("g", ZK) == {A: 50, B: 20}
    monkeypatch.setattr("sys.stdin", io.StringIO("g\n"))
    assert run_set("--to-earliest") == 2
    assert "give --yes to go on" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 50, B: 20}
    for flag in ("--yes", "--execute"):
        monkeypatch.setattr("sys.stdin", FakeTerminal(""))
        assert run_set("--to-offset", "12", flag) == 0
