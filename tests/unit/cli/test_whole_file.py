"""Files are written atomically, and never where another user has planted a link."""

import os
from pathlib import Path

import pytest

from zkconsumer.cli.files import whole_file


def test_the_temporary_file_has_an_unpredictable_name(tmp_path: Path) -> None:
    """The file is created exclusively, with permissions for its owner alone."""
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
def test_links_are_followed_only_on_request(tmp_path: Path, *, follows: bool) -> None:
    """A link that the user named is followed; otherwise the file replaces it."""
    name, target = tmp_path / "out", tmp_path / "target"
    target.write_text("before")
    name.symlink_to(target)
    with whole_file(str(name), follows_links=follows) as file:
        file.write(b"after")
    assert name.read_text() == "after"
    assert name.is_symlink() == follows
    assert target.read_text() == ("after" if follows else "before")


def test_a_failure_leaves_the_former_file(tmp_path: Path) -> None:
    """Neither a partial file nor a temporary one remains."""
    (tmp_path / "out").write_text("before")
    with pytest.raises(ZeroDivisionError), whole_file(str(tmp_path / "out")) as file:
        file.write(b"half" * (1 // 0))
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "before"
