"""Landed files read back, on real threads (the unit tests of the same name hold the rest)."""

from pathlib import Path

import pytest

from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.landed import LocalRows
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """The files of an empty folder."""
    return LocalFiles(LocalStorage(str(tmp_path)))


def test_malformed_lines_count_as_missing(files: LocalFiles, tmp_path: Path) -> None:
    """A line that no drain would have written is not counted, whatever it holds."""
    malformed = ['{"key":5}', '{"timestamp":5}', '{"timestamp":"now"}', f'{{"offset":{2**70}}}']
    malformed += [
        '{"partition":"x"}',
        "[]",
        "[" * 100_000,
        f'{{"timestamp":"{"9" * 5_000}-01-01"}}',
    ]
    for number, line in enumerate(malformed):
        (tmp_path / f"{number}").write_text(line + "\n")
    paths = [f"{number}" for number in range(len(malformed))]
    assert LocalRows(files, paths, "json", Shares.of(256, 1)).contents() == {}
