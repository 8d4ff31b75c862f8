"""The Java that Spark is started with: found, and old enough to be told before Spark tries."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from zkconsumer.errors import ConfigError
from zkconsumer.spark.session import check_java, register


def java_home(folder: Path, first_line: str, status: int = 0) -> dict[str, str]:
    """An environment whose ``JAVA_HOME`` has a ``java`` that says this."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{first_line}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    "line", ['openjdk version "17.0.2" 2022-01-18', 'java version "21" 2023-09-19']
)
def test_a_java_that_spark_can_use_passes(tmp_path: Path, line: str) -> None:
    """Whoever made it."""
    check_java(java_home(tmp_path, line))


@pytest.mark.parametrize(
    ("line", "found"),
    [('java version "1.8.0_292"', "8"), ('openjdk version "11.0.2" 2019-01-15', "11")],
)
def test_an_older_one_is_told_by_its_version(tmp_path: Path, line: str, found: str) -> None:
    """Spark itself would fail with a class that it can't load."""
    with pytest.raises(ConfigError, match=rf"JAVA_HOME is .*: that is Java {found}\. Spark needs"):
        check_java(java_home(tmp_path, line))


def test_no_java_is_told_with_where_it_was_looked_for(tmp_path: Path) -> None:
    """An empty path, a wrong home, a program that fails."""
    with pytest.raises(ConfigError, match="JAVA_HOME is not set, and java on PATH: no Java runs"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(ConfigError, match="JAVA_HOME is /nowhere: no Java runs there"):
        check_java({"JAVA_HOME": "/nowhere"})
    with pytest.raises(ConfigError, match="no Java runs there"):
        check_java(java_home(tmp_path, 'java version "17"', status=1))


class RecordedSession:
    """A session that writes down what is done with it; Spark refuses a name it finds by itself."""

    def __init__(self, name: str, done: list[str], refusal: str | None = None) -> None:
        self.dataSource = self
        self._name, self._done, self._refusal = name, done, refusal

    def createDataFrame(self, _rows: object, _schema: object) -> None:  # noqa: N802 - Spark's name
        """Makes it the active one."""
        self._done.append(f"{self._name} active")

    def register(self, source: type) -> None:
        """Fails as it was told to."""
        self._done.append(f"{self._name} registers {source.__name__}")
        if self._refusal:
            raise AnalysisException("no", errorClass=self._refusal, messageParameters={})


def test_a_session_is_active_while_it_learns_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark looks in the active one, and would take what that has for this one's."""
    done: list[str] = []
    other = RecordedSession("other", done)
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: other)
    wanted = ["own active", "own registers ZkDataSource", "other active"]
    for refusal in (None, "DATA_SOURCE_ALREADY_EXISTS"):
        done.clear()
        register(RecordedSession("own", done, refusal))  # type: ignore[arg-type]
        assert done == wanted
    with pytest.raises(AnalysisException):
        register(RecordedSession("own", done, "ANOTHER"))  # type: ignore[arg-type]
