"""``mirror translate``: from one file of offsets to the other."""

from pathlib import Path

import pytest

from zkconsumer.cli.main import main
from zkconsumer.mirror.landed import Began, Landed, Line, to_line
from zkconsumer.model import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """Return the command's words, for a mirror that has copied 400 messages of each partition."""
    lines: list[Line] = [Began(tp, 0) for tp in (T0, T1)]
    lines += [Landed(tp, ((0, 400),), tp, 1_000) for tp in (T0, T1)]
    (tmp_path / "moved").write_bytes(b"".join(map(to_line, lines)))
    files = {"--offsets-file": "moved", "--input-file": "old", "--output-file": "new"}
    pairs = ((flag, str(tmp_path / name)) for flag, name in files.items())
    return ["mirror", "translate", *(word for pair in pairs for word in pair)]


def test_each_group_goes_on_at_its_message(words: list[str], tmp_path: Path) -> None:
    """The original's export in, what an import takes out."""
    (tmp_path / "old").write_text("/consumers/a/offsets/t/0:7\n/consumers/b/offsets/t/1:400\n")
    assert main(words) == 0
    assert (tmp_path / "new").read_text() == "a,t,0,1007\nb,t,1,1400\n"


def test_lines_without_a_group_are_those_of_the_named_one(words: list[str], tmp_path: Path) -> None:
    """As an export of one group has them."""
    (tmp_path / "old").write_text("t,0,7\nt,1,0\n")
    assert main([*words, "--group", "a"]) == 0
    assert (tmp_path / "new").read_text() == "t,0,1007\nt,1,1000\n"


def test_what_is_not_mirrored_yet_is_said_and_nothing_is_written(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a status of its own, so that a script can try again."""
    (tmp_path / "old").write_text("a,t,0,401\na,t,1,5\n")
    assert main(words) == 3
    assert "not mirrored yet: t-0; nothing was written" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_group_of_other_topics_is_refused(words: list[str], tmp_path: Path) -> None:
    """There is nothing to write."""
    (tmp_path / "old").write_text("a,u,0,0\n")
    assert main(words) == 2
    assert not (tmp_path / "new").exists()


def test_what_no_mirror_has_read_is_said_and_nothing_is_written(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mirror that began behind the group's offset: those messages are in the old cluster only."""
    lines: list[Line] = [Began(T0, 500), Landed(T0, ((500, 600),), T0, 0)]
    (tmp_path / "moved").write_bytes(b"".join(map(to_line, lines)))
    (tmp_path / "old").write_text("a,t,0,300\n")
    assert main(words) == 1
    assert "t-0 from 300 to 499" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_partitions_without_an_offset_are_named(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """New members must not begin at the end there."""
    (tmp_path / "old").write_text("a,t,0,7\na,t,2,0\n")
    assert main(words) == 0
    assert "no offset for t-2" in capsys.readouterr().err
