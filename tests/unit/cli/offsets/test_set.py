"""``zkconsumer offsets set`` with a cluster in memory."""

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
    """Group ``g`` has offsets in ZooKeeper; the working directory is empty."""
    cluster = MemoryCluster({A: (10, 50), B: (0, 20), U: (5, 9)})
    cluster.hold("g", ZK, {A: 30, B: 5})
    for module in (set_, undo):
        monkeypatch.setattr(module, "open_offsets", cluster.open)
    monkeypatch.chdir(tmp_path)
    return cluster


def run_set(*flags: str) -> int:
    """Run the command for group ``g`` with these flags and return the exit status."""
    return main(["offsets", "set", "--zookeeper", "zk:2181", "--group", "g", *flags])


def set_offsets(*flags: str) -> int:
    """Run the command without a confirmation."""
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
def test_offsets_are_set_and_rolled_back(
    cluster: MemoryCluster, flags: list[str], expected: dict[TopicPartition, int]
) -> None:
    """Each way to choose offsets works, and the roll-back file restores the former ones."""
    cluster.found = {A: 44}
    assert set_offsets(*flags, "--roll-back-file", "back.json") == 0
    assert cluster.numbers("g", ZK) == expected
    assert cluster.stores["g"][KAFKA].offsets == {}
    if expected != {A: 30, B: 5}:
        assert main(["offsets", "set", "--roll-back", "back.json"]) == 0
        assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    else:
        assert not Path("back.json").exists()


def test_a_time_may_be_an_instant_or_a_duration(cluster: MemoryCluster) -> None:
    """An instant or a duration is sent to the brokers in ms; one given in seconds is refused."""
    assert set_offsets("--to-datetime", "1795293000500", "--dry-run") == 0
    assert cluster.sent_ms == 1_795_293_000_500
    assert set_offsets("--by-duration", "P99999D", "--dry-run") == 0
    assert cluster.sent_ms == 0
    assert set_offsets("--to-time", "yesterday") == 2
    assert set_offsets("--to-time", "1795293000") == 2, "these are seconds"


def test_the_roll_back_file_is_synced_before_anything_is_written(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file and its folder are synced first, so a crash in the first write can be undone."""
    events: list[str] = []
    storage = cluster.stores["g"][ZK]
    fsync, write = os.fsync, storage.write

    def synced(descriptor: int) -> None:
        events.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def writing(offsets: Mapping[TopicPartition, Offset]) -> dict[TopicPartition, str | None]:
        (back,) = decode_roll_backs(Path("back.json").read_text(), "back.json")
        before = {tp: old and old.offset for tp, (old, _) in back.written.items()}
        assert before == {A: 30, B: 5}
        events.append("write")
        return write(offsets)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(storage, "write", writing)
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 0
    assert events == ["back.json", Path.cwd().name, "write"]


@pytest.mark.parametrize("name", ["there.json", "no/such/folder.json"])
def test_without_a_roll_back_file_nothing_is_written(cluster: MemoryCluster, name: str) -> None:
    """If the roll-back file exists or cannot be created, no offset is written."""
    Path("there.json").write_text("mine")
    assert set_offsets("--to-latest", "--roll-back-file", name) == 1
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert Path("there.json").read_text() == "mine"


def test_the_table_says_what_was_done(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is followed by the command that undoes it."""
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
    """A dry run writes neither offsets nor a roll-back file."""
    assert set_offsets("--to-latest", "--dry-run", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["roll_back_file"]) == ("planned", None)
    assert [partition["wanted"] for partition in report["groups"][0]["partitions"]] == [50, 20]
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert list(Path().iterdir()) == []


def test_a_live_group_is_refused_unless_forced(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """``--force`` adds a note on what the members will do, and the roll-back needs it, too."""
    cluster.stores["g"][ZK].member_ids = ["g_host-1"]
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


def test_a_member_that_joins_before_the_write_prevents_it(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """If a member joins before the write, nothing is written and no roll-back file is left."""
    storage = cluster.stores["g"][ZK]
    snapshots = iter([[], ["m-1"]])
    storage.on_members = lambda: storage.member_ids.__setitem__(
        slice(None), next(snapshots, ["m-1"])
    )
    assert set_offsets("--to-latest") == 2
    assert "m-1" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert list(Path().iterdir()) == []


def test_both_stores_get_the_same_offsets(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shifts start from the larger offset; one file restores what each store had."""
    cluster.hold("g", KAFKA, {A: 40})
    assert set_offsets("--shift-by", "-5", "--roll-back-file", "back.json") == 0
    both = {A: 35, B: 0}
    assert (cluster.numbers("g", ZK), cluster.numbers("g", KAFKA)) == (both, both)
    assert capsys.readouterr().out.count("verified") == 2
    assert main(["offsets", "set", "--roll-back", "back.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["status"] == "done"
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert cluster.stores["g"][KAFKA].offsets == {A: OffsetAndMetadata(40), B: None}


def test_one_store_can_be_selected(cluster: MemoryCluster) -> None:
    """A store can be selected even if the group has no offsets in it yet."""
    assert set_offsets("--to-offset", "11", "--topic", "t:0", "--storage", "kafka") == 0
    assert cluster.numbers("g", KAFKA) == {A: 11}
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert set_offsets("--to-latest", "--storage", "zookeeper") == 0
    assert cluster.numbers("g", KAFKA) == {A: 11}


def test_a_failed_write_is_reported_by_partition(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 1, the other store is not started, and the file undoes the write."""
    cluster.hold("g", KAFKA, {A: 40})
    cluster.stores["g"][ZK].refused = {B: "somebody wrote it"}
    assert set_offsets("--to-earliest", "--roll-back-file", "back.json") == 1
    out = capsys.readouterr().out
    assert "NOT SET: somebody wrote it; it holds 5" in out
    assert "group g in zookeeper: 1 of 2 offsets written, NOT verified" in out
    assert "NOT begun: earlier writes could not be verified" in out
    assert cluster.numbers("g", KAFKA) == {A: 40}
    assert main(["offsets", "set", "--roll-back", "back.json"]) == 0
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_losing_zookeeper_between_two_stores_is_reported(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report still shows what was written before the connection was lost."""
    cluster.hold("g", KAFKA, {A: 40})
    written = []

    def gone() -> None:
        if cluster.numbers("g", ZK) == {A: 50, B: 20}:
            written.append(1)
        if len(written) > 1:
            raise RegistryError("ZooKeeper does not answer")

    cluster.stores["g"][ZK].on_members = gone
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 1
    out = capsys.readouterr().out
    assert "group g in zookeeper: 2 of 2 offsets written, verified" in out
    assert "doubtful: ZooKeeper does not answer" in out
    assert (
        "t-0               10       50      40          50   10        0  NOT SET: it holds 40"
        in out
    )
    assert Path("back.json").exists()


def test_a_file_of_unknown_partitions_is_refused(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped name or another cluster's file is an error, not an empty success."""
    Path("f").write_text("tt,0,11\n")
    assert set_offsets("--from-file", "f") == 2
    assert "the cluster has none of these partitions: tt-0: check" in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_control_characters_in_member_names_are_escaped(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Members of a coordinator group may have any name."""
    cluster.stores["g"][ZK].member_ids = ["\x1b[2J\nm"]
    assert set_offsets("--to-latest") == 2
    assert "members: \\x1b[2J\\nm:" in capsys.readouterr().out
    assert set_offsets("--to-latest", "--force", "--roll-back-file", "b") == 0
    assert main(["offsets", "set", "--roll-back", "b"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_after_a_lost_response_offsets_are_read_back(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was written counts as written; the rest is reported as not set."""
    cluster.stores["g"][ZK].fail_after = 1
    assert set_offsets("--to-latest") == 1
    out = capsys.readouterr().out
    assert "1 of 2 offsets written, NOT verified" in out
    assert "NOT SET: the answer was lost; it holds 5" in out


def test_a_member_that_joins_between_two_stores_is_reported(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The roll-back file stays, since the first store was written."""
    cluster.hold("g", KAFKA, {A: 40})
    storage = cluster.stores["g"][ZK]
    storage.on_write = lambda: storage.member_ids.append("late")
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 1
    assert "doubtful: a member joined meanwhile: late" in capsys.readouterr().out
    assert Path("back.json").exists()
    assert cluster.numbers("g", KAFKA) == {A: 40}


def test_a_later_commit_is_not_rolled_back(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """An offset that was committed after the write is kept unless the roll-back is forced."""
    assert set_offsets("--to-latest", "--roll-back-file", "back.json") == 0
    cluster.hold("g", ZK, {A: 49})
    assert main(["offsets", "set", "--roll-back", "back.json"]) == 2
    assert "somebody committed since" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 49, B: 20}
    assert main(["offsets", "set", "--roll-back", "back.json", "--dry-run", "--force"]) == 0
    assert cluster.numbers("g", ZK) == {A: 49, B: 20}
    assert main(["offsets", "set", "--roll-back", "back.json", "--force"]) == 0
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_offsets_may_come_from_a_file(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file may be of this group, or of a single other one."""
    Path("f").write_text("t,0,11\nt,1,12\n")
    assert set_offsets("--from-file", "f") == 0
    assert cluster.numbers("g", ZK) == {A: 11, B: 12}
    Path("f").write_text("/consumers/other/offsets/t/0:13\n/consumers/other/offsets/gone/0:1\n")
    assert set_offsets("--from-file", "f") == 0
    assert "gone-0" in capsys.readouterr().out
    assert cluster.numbers("g", ZK) == {A: 13, B: 12}
    assert set_offsets("--from-file", "f", "--topic", "t") == 2, "the file has no offset for t-1"
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
def test_invalid_arguments_are_refused(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str], flags: list[str], reported: str
) -> None:
    """The exit status is 2, the error is one line, and nothing is written."""
    Path("empty").touch()
    assert set_offsets("--to-latest", "--roll-back-file", "back", "--storage", "zookeeper") == 0
    cluster.hold("g", ZK, {A: 30, B: 5})
    capsys.readouterr()
    assert set_offsets(*flags) == 2
    assert reported in capsys.readouterr().err
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}


def test_a_group_without_offsets_needs_an_explicit_store(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name may be mistyped, and the members' store is unknown."""
    command = ["offsets", "set", "--zookeeper", "z", "--group", "new", "--to-earliest", "--yes"]
    assert main(command) == 2
    assert "group new has no offsets anywhere: check its name" in capsys.readouterr().err
    assert main([*command, "--storage", "both"]) == 2, "no topic is named"
    assert main([*command, "--storage", "both", "--topic", "t"]) == 0
    assert cluster.numbers("new", KAFKA) == cluster.numbers("new", ZK) == {A: 10, B: 0}


def test_group_and_cluster_must_be_named(
    cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only a roll-back needs neither, since its file names both."""
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
    """A literal offset can be set without its leader, but only with ``--force``."""
    del cluster.logs_of[A]
    assert set_offsets("--to-latest") == 2
    assert "t-0: its leader did not respond" in capsys.readouterr().out
    assert set_offsets("--to-offset", "7", "--topic", "t:0") == 2
    assert set_offsets("--to-offset", "7", "--topic", "t:0", "--force") == 0
    assert cluster.numbers("g", ZK) == {A: 7, B: 5}


def test_a_terminal_shows_the_plan_and_asks_for_confirmation(
    cluster: MemoryCluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only the group's name confirms; ``--yes`` and ``--execute`` confirm in advance."""
    monkeypatch.setattr("sys.stdin", FakeTerminal("y\n"))
    assert run_set("--to-latest") == 2
    printed = capsys.readouterr()
    assert cluster.numbers("g", ZK) == {A: 30, B: 5}
    assert printed.out == ""
    assert "Type g to go on" in printed.err
    assert "30" in printed.err
    assert "50" in printed.err
    assert "nothing was done" in printed.err
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
