"""On real threads: what the unit tests of the same name do not hold."""

from pathlib import Path

import pytest

from zkconsumer.drain.local.data_files import LocalFiles
from zkconsumer.drain.local.landed import LocalRows
from zkconsumer.drain.local.local_storage import LocalStorage
from zkconsumer.drain.local.memory import Shares


@pytest.fixture
def files(tmp_path: Path) -> LocalFiles:
    """Of an empty folder."""
    return LocalFiles(LocalStorage(str(tmp_path)))


def test_lines_that_nobody_wrote_count_as_missing(files: LocalFiles, tmp_path: Path) -> None:
    """Whatever is odd about them."""
    odd = ['{"key":5}', '{"timestamp":5}', '{"timestamp":"now"}', f'{{"offset":{2**70}}}']
    odd += ['{"partition":"x"}', "[]", "[" * 100_000, f'{{"timestamp":"{"9" * 5_000}-01-01"}}']
    for number, line in enumerate(odd):
        (tmp_path / f"{number}").write_text(line + "\n")
    paths = [f"{number}" for number in range(len(odd))]
    assert LocalRows(files, paths, "json", Shares.of(256, 1)).contents() == {}
