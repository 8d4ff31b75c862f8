"""``zkconsumer replay`` with in-memory brokers of 0.8.2."""

import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.fakes.fake_script import Close, Fail
from tests.support.ranges import TP, RangeReaderBench, range_bench, values
from zkconsumer.cli.consume.format import base64_line
from zkconsumer.cli.main import main
from zkconsumer.cli.replay import command as replay
from zkconsumer.cli.replay.ranges import plan_replay
from zkconsumer.cli.replay.replaying import Replay
from zkconsumer.cli.signals import StopRequested
from zkconsumer.model import Record, TopicPartition
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.wire.api import ApiKey

OTHER = TopicPartition("t", 1)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[RangeReaderBench]:
    """``t-0`` has 100 records and ``t-1`` ten; the working directory is empty."""
    world = range_bench(are_old=False)
    world.net.cluster.append(TP, values(*range(100)))
    world.net.cluster.append(OTHER, values(*range(200, 210)))

    @contextmanager
    def opened(_args: object) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(client=world.client())

    monkeypatch.setattr(replay, "open_cluster", opened)
    monkeypatch.chdir(tmp_path)
    yield world
    world.connections.stop()


class ReplayOutput:
    """The exit status and the output of a run."""

    def __init__(self, capfd: pytest.CaptureFixture[str], *flags: str) -> None:
        ours = {"--topic": "t", "--timeout-ms": "2000"}
        given = [word for flag in ours if flag not in flags for word in (flag, ours[flag])]
        self.status = main(["replay", *given, *flags])
        out, self.err = capfd.readouterr()
        self.numbers = [int(line) for line in out.splitlines() if line.isdigit()]
        self.lines = out.splitlines()


def test_all_partitions_are_printed_one_after_the_other(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each is printed up to its end at the start of the command."""
    printed = ReplayOutput(capfd)
    assert printed.status == 0
    assert printed.numbers == [*range(100), *range(200, 210)]
    assert printed.err == "zkconsumer: 110 messages of 2 partitions\n"
    assert world.net.cluster.log(TP).end_offset == 100


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--from-offset", "95"], [95, 96, 97, 98, 99]),
        (["--to-offset", "2"], [0, 1, 200, 201]),
        (["--from-offset", "4", "--to-offset", "6"], [4, 5, 204, 205]),
        (["--from-offset", "4", "--to-offset", "4"], []),
        (["--partitions", "1", "--from-offset", "8"], [208, 209]),
        (["--max-messages", "3", "--from-offset", "7"], [7, 8, 9]),
        (["--max-messages", "95"], [*range(95)]),
        (["--to-offset", "3", "--max-messages", "4"], [0, 1, 2, 200]),
    ],
)
def test_a_part_of_the_log_is_printed(
    world: RangeReaderBench,
    capfd: pytest.CaptureFixture[str],
    flags: list[str],
    expected: list[int],
) -> None:
    """Offsets and counts limit it; a log that is too short for them needs ``--allow-gaps``."""
    printed = ReplayOutput(capfd, *flags, "--allow-gaps")
    assert (printed.status, printed.numbers) == (0, expected)
    assert f"{len(expected)} messages of" in printed.err
    assert world.pauses == []


def test_ranges_may_come_from_offset_files(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """Both formats are read; a file of several groups needs ``--group``."""
    Path("from").write_text("t,0,97\nt,1,208\n")
    Path("to").write_text("/consumers/g/offsets/t/0:99\n/consumers/g/offsets/t/1:209\n")
    flags = ("--offsets-file", "from", "--to-offsets-file", "to")
    assert ReplayOutput(capfd, *flags).status == 1, "t-1 ends at 10, so 208 is not in its log"
    Path("from").write_text("t,0,97\nt,1,8\n")
    Path("to").write_text("/consumers/g/offsets/t/0:99\n/consumers/g/offsets/t/1:9\n")
    assert ReplayOutput(capfd, *flags).numbers == [97, 98, 208]
    assert main(["replay", *flags]) == 0, "the file has the topic"
    capfd.readouterr()
    Path("to").write_text("a,t,0,99\nb,t,0,98\n")
    printed = ReplayOutput(capfd, *flags)
    assert (printed.status, printed.lines) == (2, [])
    assert "to has offsets of a, b: select one with --group" in printed.err
    assert ReplayOutput(capfd, *flags, "--group", "b", "--partitions", "0").numbers == [97]
    printed = ReplayOutput(capfd, *flags, "--group", "b")
    assert (printed.status, printed.lines) == (2, [])
    assert "one file has an offset of t-1, but the other has none" in printed.err
    assert world.pauses == []


def test_deleted_offsets_are_reported_before_anything_is_printed(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """``--allow-gaps`` leaves them out."""
    world.net.cluster.log(TP).delete_before(30)
    flags = ("--partitions", "0", "--from-offset", "10", "--output-file", "out")
    printed = ReplayOutput(capfd, *flags)
    assert (printed.status, printed.lines, list(Path().iterdir())) == (1, [], [])
    assert "t-0 [10, 30) is not available: the log begins at 30 (older messages are deleted)" in (
        printed.err
    )
    printed = ReplayOutput(capfd, *flags, "--allow-gaps")
    assert (printed.status, "[10, 30) is not available" in printed.err) == (0, True)
    assert Path("out").read_text().split() == [str(number) for number in range(30, 100)]


def test_a_pipe_has_its_size_again_at_the_end(
    world: RangeReaderBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may write to it afterwards, who would wait for its reader at every page."""
    read, write = os.pipe()
    with os.fdopen(read), os.fdopen(write, "w") as pipe:
        size = fcntl.fcntl(write, fcntl.F_GETPIPE_SZ)
        monkeypatch.setattr(sys, "stdout", pipe)
        assert main(["replay", "--topic", "t", "--from-offset", "4", "--to-offset", "4"]) == 0
        assert fcntl.fcntl(write, fcntl.F_GETPIPE_SZ) == size
    assert world.pauses == []


@pytest.mark.parametrize("allowed", [True, False])
def test_offsets_deleted_meanwhile_are_reported(
    world: RangeReaderBench,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    allowed: bool,
) -> None:
    """The error gives the exact offsets, so that the rest is not mistaken for everything."""
    log = world.net.cluster.log(TP)

    def and_then_deleted(*args: object) -> object:
        plan = plan_replay(*args)  # type: ignore[arg-type]  # passed on
        log.delete_before(40)
        return plan

    monkeypatch.setattr(replay, "plan_replay", and_then_deleted)
    printed = ReplayOutput(capfd, "--partitions", "0", *(["--allow-gaps"] if allowed else []))
    if allowed:
        assert (printed.status, printed.numbers) == (0, [*range(40, 100)])
        assert "t-0 [0, 40) is lost" in printed.err
        assert "zkconsumer: 40 offsets were lost meanwhile" in printed.err
        assert "hold none" not in printed.err
    else:
        assert (printed.status, printed.lines) == (1, [])
        assert "t-0 [0, 40) was deleted meanwhile" in printed.err
        assert "--allow-gaps continues without it" in printed.err
        assert "it stopped at t-0, offset 0" in printed.err


@pytest.mark.parametrize("error", [StopRequested(), OSError(28, "No space left on device")])
def test_an_interrupted_run_leaves_no_partial_file(
    world: RangeReaderBench,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    """An older file of the name stays, and the error says how far the run got."""
    Path("out").write_text("before")

    def broken(self: Replay, *_: object, **__: object) -> None:
        self.position = (TP, 7)
        raise error

    monkeypatch.setattr(Replay, "run", broken)
    printed = ReplayOutput(capfd, "--output-file", "out")
    assert printed.status == (130 if isinstance(error, StopRequested) else 1)
    assert [path.name for path in Path().iterdir()] == ["out"]
    assert Path("out").read_text() == "before"
    if isinstance(error, StopRequested):
        assert "it stopped at t-0, offset 7" in printed.err
    assert world.pauses == []


def test_compacted_offsets_are_counted(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """An offset that compaction removed is no gap."""
    world.net.cluster.log(OTHER).end_offset = 15
    world.net.cluster.append(OTHER, values(300))
    printed = ReplayOutput(capfd, "--partitions", "1")
    assert (printed.status, printed.numbers) == (0, [*range(200, 210), 300])
    assert "11 messages of 1 partition; 5 offsets have no message" in printed.err


def test_temporary_failures_are_retried(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """Each message is printed once."""
    world.net.brokers[0].script(ApiKey.FETCH, Close(), Fail(6))
    assert ReplayOutput(capfd, "--partitions", "0").numbers == [*range(100)]


def test_a_partition_without_a_leader_prevents_a_replay(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str]
) -> None:
    """The other partitions can be replayed by naming them."""
    world.net.cluster.move_leader(OTHER, None)
    printed = ReplayOutput(capfd, "--timeout-ms", "50")
    assert (printed.status, printed.lines) == (1, [])
    assert "t-1: its leader does not respond, so nothing was printed" in printed.err
    assert ReplayOutput(capfd, "--partitions", "0").numbers == [*range(100)]


@pytest.mark.parametrize(
    ("flags", "reported"),
    [
        (
            ["--from-offset", "9", "--to-offset", "3"],
            "the start offset 9 is after the end offset 3",
        ),
        (["--partitions", "0,7"], "the cluster has no partition t-7"),
        (["--topic", "slip"], "the cluster has no topic slip"),
        (["--output", "json", "--property", "print.key=true"], "can't be combined with JSON"),
        (["--to-time", "later"], "'later' is not a time"),
        (["--offsets-file", "other"], "other has no offsets of topic t"),
    ],
)
def test_invalid_arguments_are_refused(
    world: RangeReaderBench, capfd: pytest.CaptureFixture[str], flags: list[str], reported: str
) -> None:
    """The exit status is 2, and nothing is printed."""
    Path("other").write_text("u,0,1\n")
    printed = ReplayOutput(capfd, *flags)
    assert (printed.status, printed.lines) == (2, [])
    assert reported in printed.err
    assert world.pauses == []


def test_a_cluster_must_be_given(capsys: pytest.CaptureFixture[str]) -> None:
    """A cluster and a topic are required."""
    assert main(["replay", "--topic", "t"]) == 2
    assert "give --zookeeper HOSTS, or --bootstrap-server HOSTS" in capsys.readouterr().err
    assert main(["replay"]) == 2
    assert "no topic given" in capsys.readouterr().err


def test_base64_output_holds_any_bytes() -> None:
    """Null and empty values differ."""
    line = base64_line(MessageAndMetadata(OTHER, Record(2, b"", b"\xff\n"), None, None))
    assert line.endswith(b"\n")
    assert json.loads(line) == {
        "topic": "t",
        "partition": 1,
        "offset": 2,
        "timestamp": None,
        "key": "",
        "value": "/wo=",
    }
    record = Record(2, None, None, 5)
    empty: MessageAndMetadata[bytes, bytes] = MessageAndMetadata(OTHER, record, None, None)
    assert json.loads(base64_line(empty))["key"] is None
    assert Record(0, None, None).value is None
