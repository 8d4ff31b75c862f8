"""A file that is held by one at a time."""

import errno
import fcntl
from pathlib import Path

import pytest

from zkconsumer.drain.file_lock import held_file


def test_one_holds_a_file_until_it_is_done(tmp_path: Path) -> None:
    """Whoever comes second is told, and does not take it from the first."""
    path = tmp_path / "drain.json"
    path.write_bytes(b"{}")
    with held_file(path) as first:
        for _ in range(2):
            with held_file(path) as second:
                assert (first, second) == (True, False)
    with held_file(path) as third:
        assert third
    assert path.read_bytes() == b"{}"


def test_where_nothing_can_be_held_nobody_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, or a file system without locks: plans and manifests decide."""
    with held_file(tmp_path / "nothing") as held:
        assert held

    def without_locks(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    (tmp_path / "drain.json").write_bytes(b"{}")
    with held_file(tmp_path / "drain.json") as held:
        assert held
