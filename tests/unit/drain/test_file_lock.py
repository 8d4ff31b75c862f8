"""A file that one process at a time can lock."""

import errno
import fcntl
from pathlib import Path

import pytest

from zkconsumer.drain.file_lock import held_file


def test_a_file_is_held_until_the_first_holder_is_done(tmp_path: Path) -> None:
    """A second holder is refused without releasing the first one's lock."""
    path = tmp_path / "drain.json"
    path.write_bytes(b"{}")
    with held_file(path) as first:
        for _ in range(2):
            with held_file(path) as second:
                assert (first, second) == (True, False)
    with held_file(path) as third:
        assert third
    assert path.read_bytes() == b"{}"


def test_without_locks_nobody_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file, or in a file system without locks, plans and manifests decide."""
    with held_file(tmp_path / "nothing") as held:
        assert held

    def without_locks(_file: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    (tmp_path / "drain.json").write_bytes(b"{}")
    with held_file(tmp_path / "drain.json") as held:
        assert held
