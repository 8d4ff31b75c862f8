"""What a member of a demo's group delivered, by its output."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from zkconsumer.demo.lines import log_line
from zkconsumer.demo.members import DemoMember


def test_each_whole_line_is_taken_once(tmp_path: Path) -> None:
    """A line of which only a part was printed does not count as delivered."""
    output = tmp_path / "stdout"
    lines = [f"{log_line(number, 'now')}\n" for number in range(5)]
    member = DemoMember("a", cast("Any", SimpleNamespace(folder=tmp_path)))
    output.write_text("".join(lines[:2]) + lines[2][:20])
    assert member.take() == [0, 1]
    assert member.take() == []
    output.write_text("".join(lines[:4]) + lines[4].rstrip("\n"))
    assert member.take() == [2, 3]
