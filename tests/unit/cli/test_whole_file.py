"""Files that are there as a whole or not at all, and go nowhere that somebody else chose."""

import os
from pathlib import Path

import pytest

from zkconsumer.cli.files import whole_file


def test_a_name_that_others_can_guess_is_not_used(tmp_path: Path) -> None:
    """While it is written it stands under one that was not there, for its owner alone."""
    for name in ("out.new", "out.tmp", ".out"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
    with whole_file(str(tmp_path / "out")) as file:
        [temporary] = [path for path in tmp_path.iterdir() if not path.is_symlink()]
        assert temporary.stat().st_mode & 0o777 == 0o600
        assert len(temporary.name) > len(".out-")
        file.write(b"data")
    assert (tmp_path / "out").read_bytes() == b"data"
    assert not (tmp_path / "victim").exists()


@pytest.mark.parametrize("follows", [True, False])
def test_links(tmp_path: Path, *, follows: bool) -> None:
    """Followed where the user named it; else the file takes the link's place."""
    name, target = tmp_path / "out", tmp_path / "target"
    target.write_text("before")
    name.symlink_to(target)
    with whole_file(str(name), follows_links=follows) as file:
        file.write(b"after")
    assert name.read_text() == "after"
    assert name.is_symlink() == follows
    assert target.read_text() == ("after" if follows else "before")


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    """Neither half a file, nor another one instead of what was there."""
    (tmp_path / "out").write_text("before")
    with pytest.raises(ZeroDivisionError), whole_file(str(tmp_path / "out")) as file:
        file.write(b"half" * (1 // 0))
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "before"
