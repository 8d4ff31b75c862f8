"""``mirror translate``: offsets of groups in the source, translated to the target."""

from pathlib import Path

import pytest

from zkconsumer.cli.main import main
from zkconsumer.mirror.landed import Landed, Line, ReadFrom, to_line
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """Return the command line for a mirror that has copied 400 messages of each partition."""
    lines: list[Line] = [ReadFrom(tp, 0) for tp in (T0, T1)]
    lines += [Landed(tp, ((0, 400),), tp, 1_000) for tp in (T0, T1)]
    (tmp_path / "moved").write_bytes(b"".join(map(to_line, lines)))
    files = {"--offsets-file": "moved", "--input-file": "old", "--output-file": "new"}
    pairs = ((flag, str(tmp_path / name)) for flag, name in files.items())
    return ["mirror", "translate", *(word for pair in pairs for word in pair)]


def test_offsets_are_translated_for_each_group(command: list[str], tmp_path: Path) -> None:
    """The input may be the original's export; the output is what ``offsets import`` reads."""
    (tmp_path / "old").write_text("/consumers/a/offsets/t/0:7\n/consumers/b/offsets/t/1:400\n")
    assert main(command) == 0
    assert (tmp_path / "new").read_text() == "a,t,0,1007\nb,t,1,1400\n"


def test_lines_without_a_group_belong_to_the_named_group(
    command: list[str], tmp_path: Path
) -> None:
    """The export of a single group has such lines."""
    (tmp_path / "old").write_text("t,0,7\nt,1,0\n")
    assert main([*command, "--group", "a"]) == 0
    assert (tmp_path / "new").read_text() == "t,0,1007\nt,1,1000\n"


def test_an_offset_that_is_not_mirrored_yet_stops_the_translation(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit status is 3, so that a script can try again later."""
    (tmp_path / "old").write_text("a,t,0,401\na,t,1,5\n")
    assert main(command) == 3
    assert "not mirrored yet: t-0; nothing was written" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_group_of_other_topics_is_refused(command: list[str], tmp_path: Path) -> None:
    """Without any mirrored topic there is nothing to write."""
    (tmp_path / "old").write_text("a,u,0,0\n")
    assert main(command) == 2
    assert not (tmp_path / "new").exists()


def test_messages_that_the_mirror_skipped_stop_the_translation(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """If the mirror started after the group's offset, those messages are only in the source."""
    lines: list[Line] = [ReadFrom(T0, 500), Landed(T0, ((500, 600),), T0, 0)]
    (tmp_path / "moved").write_bytes(b"".join(map(to_line, lines)))
    (tmp_path / "old").write_text("a,t,0,300\n")
    assert main(command) == 1
    assert "t-0 from 300 to 499" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_partitions_without_an_offset_are_named(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """New members must not start at the end of those partitions."""
    (tmp_path / "old").write_text("a,t,0,7\na,t,2,0\n")
    assert main(command) == 0
    assert "no offset for t-2" in capsys.readouterr().err
