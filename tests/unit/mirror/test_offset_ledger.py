"""What streams share: the limit of messages, the end, the offsets file."""

import json
from pathlib import Path

import pytest

from tests.support.mirroring import OTHER, SOURCE
from zkconsumer.errors import ConfigError, MirrorError
from zkconsumer.mirror.ends import Ends
from zkconsumer.mirror.landed import Landed, ReadFrom, ReadUntil, runs_of
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.mirror.offsets_file import OffsetsFile, read_offsets_file

LINES = [Landed(SOURCE, ((0, 3),), OTHER, 10), Landed(SOURCE, ((3, 4), (6, 9)), OTHER, 13)]


def test_the_limit_is_shared_and_never_exceeded() -> None:
    """What one stream does not use, another may."""
    ledger = OffsetLedger(max_messages=10)
    assert (ledger.reserve(6), ledger.reserve(6), ledger.reserve(6)) == (6, 4, 0)
    ledger.settle(6, 2)
    assert not ledger.is_complete
    assert ledger.reserve(9) == 4
    ledger.settle(4, 4)
    assert not ledger.is_complete
    ledger.settle(4, 4)
    assert ledger.is_complete


def test_without_limits_it_never_is_complete() -> None:
    """Only a limit or the ends can be reached."""
    ledger = OffsetLedger()
    assert ledger.reserve(7) == 7
    ledger.settle(7, 7)
    assert not ledger.is_complete


def test_ends_may_be_reached_by_other_processes() -> None:
    """Other processes' commits count."""
    ledger = OffsetLedger(ends=Ends({SOURCE: 5, OTHER: 9}, {}))
    ledger.on_reached(SOURCE, 5)
    assert ledger.missing() == {OTHER}
    ledger.on_reached_by_others(OTHER, 9, 9)
    assert ledger.is_complete
    assert ledger.totals()[OTHER].end == 9
    assert ledger.totals()[OTHER].position is None


def test_messages_that_were_deleted_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """They are logged when a mirror comes back, and not for every offset that was compacted."""
    ledger = OffsetLedger()
    ledger.on_read(SOURCE, runs_of([10, 12]), 4)
    ledger.on_read(SOURCE, runs_of([20]), None)
    (record,) = caplog.records
    assert "clicks-0: offsets 4 to 9 are not mirrored" in record.getMessage()


def test_the_offset_at_which_reading_began_is_a_line(tmp_path: Path) -> None:
    """That is the committed offset or the first message, and again if others read meanwhile."""
    path = tmp_path / "offsets"
    file = OffsetsFile(path)
    ledger = OffsetLedger(offsets_file=file)
    ledger.on_read(SOURCE, runs_of([10, 12]), 4)
    ledger.on_read(OTHER, runs_of([3]), None)
    first = Landed(SOURCE, ((10, 11), (12, 13)), OTHER, 0)
    ledger.on_landed([first])
    ledger.on_read(SOURCE, runs_of([13]), 13)
    ledger.on_read(SOURCE, runs_of([20]), 20)
    file.close()
    assert list(read_offsets_file(path)) == [
        ReadFrom(SOURCE, 4),
        ReadFrom(OTHER, 3),
        first,
        ReadFrom(SOURCE, 20),
    ]


def test_a_gap_at_the_end_is_in_the_file_before_it_is_committed(tmp_path: Path) -> None:
    """Offsets without messages after the last one get a line; without such a gap there is none."""
    path = tmp_path / "offsets"
    file = OffsetsFile(path)
    ledger = OffsetLedger(offsets_file=file)
    ledger.on_read(SOURCE, runs_of([0, 1, 2]), 0)
    ledger.on_landed(LINES[:1])
    for due in (3, 5, 5):
        ledger.sync({SOURCE: due})
    ledger.on_read(SOURCE, runs_of([5]), 5)
    file.close()
    assert list(read_offsets_file(path)) == [ReadFrom(SOURCE, 0), LINES[0], ReadUntil(SOURCE, 5)]


def test_lines_are_appended_to_the_existing_ones(tmp_path: Path) -> None:
    """A mirror that is started again appends to the same file."""
    path = tmp_path / "offsets"
    for line in LINES:
        file = OffsetsFile(path)
        file.append([line])
        file.sync()
        file.close()
    assert list(read_offsets_file(path)) == LINES
    assert [json.loads(line)["target_offset"] for line in path.read_text().splitlines()] == [10, 13]


@pytest.mark.parametrize("truncated", [b'{"topic":"cl', b"x" * 200_000])
def test_a_line_that_a_kill_truncated_is_removed(tmp_path: Path, truncated: bytes) -> None:
    """Its messages were not committed, so they come again."""
    path = tmp_path / "offsets"
    file = OffsetsFile(path)
    file.append(LINES[:1])
    file.close()
    with path.open("ab") as damaged:
        damaged.write(truncated)
    assert list(read_offsets_file(path)) == LINES[:1]
    again = OffsetsFile(path)
    again.append(LINES[1:])
    again.close()
    assert list(read_offsets_file(path)) == LINES


def test_a_file_with_only_a_truncated_line_becomes_empty(tmp_path: Path) -> None:
    """The file is empty afterwards."""
    path = tmp_path / "offsets"
    path.write_bytes(b'{"topi')
    OffsetsFile(path).close()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", [b"notes", b"first\nsecond", b"{}\n", b"\n", b'{"a":1}'])
def test_another_file_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    """A mistyped name destroys nothing."""
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is not an offsets file: it is left as it is"):
        OffsetsFile(path)
    assert path.read_bytes() == content


def test_two_mirrors_need_two_files(tmp_path: Path) -> None:
    """The second one is refused while the first one writes."""
    path = tmp_path / "offsets"
    first = OffsetsFile(path)
    with pytest.raises(ConfigError, match="give each mirror a file of its own"):
        OffsetsFile(path)
    first.close()
    OffsetsFile(path).close()


def test_invalid_files_are_refused(tmp_path: Path) -> None:
    """The error names the file."""
    with pytest.raises(ConfigError, match=r"--offsets-file .*no-such-folder"):
        OffsetsFile(tmp_path / "no-such-folder" / "offsets")
    with pytest.raises(ConfigError, match="--offsets-file"):
        list(read_offsets_file(tmp_path / "nothing"))
    (tmp_path / "bad").write_text("{}\n")
    with pytest.raises(MirrorError, match=r"bad, line 1,"):
        list(read_offsets_file(tmp_path / "bad"))


def test_a_full_disk_stops_the_mirror_before_it_commits() -> None:
    """The error says that nothing is lost."""
    file = OffsetsFile(Path("/dev/full"))
    with pytest.raises(MirrorError, match="the offsets that it lacks were not committed"):
        OffsetLedger(offsets_file=file).on_landed(LINES)
    file.close()


def test_after_a_line_could_not_be_written_nothing_is_committed() -> None:
    """No stream commits, not even at the end, or the line would be missing for good."""
    file = OffsetsFile(Path("/dev/full"))
    ledger = OffsetLedger(offsets_file=file)
    with pytest.raises(MirrorError):
        ledger.on_landed(LINES)
    for _ in range(2):
        with pytest.raises(MirrorError, match="the offsets that it lacks were not committed"):
            ledger.sync({SOURCE: 9})
    file.close()
