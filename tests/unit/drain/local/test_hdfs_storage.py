"""HDFS storage without an HDFS; the rest is in ``tests/integration/drain/test_hdfs.py``."""

import importlib.util
import io
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.drain.local.engine import LocalEngine
from zkconsumer.drain.local.hdfs_storage import HdfsStorage, _Ranges
from zkconsumer.errors import ConfigError, DrainError

DATA = bytes(range(100))


class HdfsReader:
    """A reader of a file in HDFS that checks its arguments as strictly as the client does."""

    def __len__(self) -> int:
        return len(DATA)

    def read_range(self, offset: int, length: int) -> bytes:
        assert 0 <= offset < offset + length <= len(DATA)
        return DATA[offset : offset + length]


STEPS = st.one_of(
    st.tuples(st.just("read"), st.none() | st.integers(0, 120)),
    st.tuples(st.just("seek"), st.tuples(st.integers(0, 120), st.just(os.SEEK_SET))),
    st.tuples(st.just("seek"), st.tuples(st.integers(-100, 20), st.just(os.SEEK_END))),
)


@given(st.lists(STEPS, max_size=20))
def test_a_file_behaves_like_a_python_file(steps: list[tuple[str, object]]) -> None:
    """Reads and seeks, even past the end, give what ``io.BytesIO`` gives."""
    ours, theirs = _Ranges(HdfsReader()), io.BytesIO(DATA)  # type: ignore[arg-type]
    for name, argument in steps:
        arguments = argument if isinstance(argument, tuple) else (argument,)
        assert getattr(ours, name)(*arguments) == getattr(theirs, name)(*arguments)
        assert ours.tell() == theirs.tell()


def test_without_the_hdfs_client_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which extra installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.delitem(sys.modules, HdfsStorage.__module__)
    with pytest.raises(ConfigError, match=r"pip install 'zkconsumer\[hdfs\]'"):
        LocalEngine().storage("hdfs://nn/x")


def test_a_path_without_an_address_needs_hadoop_s_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error is one line that names ``fs.defaultFS``."""
    for name in ("HADOOP_CONF_DIR", "HADOOP_HOME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DrainError, match=r"^hdfs:///lake, at '': [^\n]*fs\.defaultFS[^\n]*$"):
        HdfsStorage("hdfs:///lake")
