"""The Java that Spark is started with: found, and refused before Spark starts if it is too old."""

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from zkconsumer.errors import ConfigError
from zkconsumer.spark.session import check_java, register


def java_home(folder: Path, first_line: str, status: int = 0) -> dict[str, str]:
    """An environment whose ``JAVA_HOME`` has a ``java`` that prints this line."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho '{first_line}' >&2\nexit {status}\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


@pytest.mark.parametrize(
    "line", ['openjdk version "17.0.2" 2022-01-18', 'java version "21" 2023-09-19']
)
def test_a_java_that_spark_can_use_passes(tmp_path: Path, line: str) -> None:
    """It does whatever its vendor."""
    check_java(java_home(tmp_path, line))


@pytest.mark.parametrize(
    ("line", "found"),
    [('java version "1.8.0_292"', "8"), ('openjdk version "11.0.2" 2019-01-15', "11")],
)
def test_an_older_java_is_refused_by_its_version(tmp_path: Path, line: str, found: str) -> None:
    """Spark itself would only fail to load a class."""
    with pytest.raises(ConfigError, match=rf"JAVA_HOME is .*: that is Java {found}\. Spark needs"):
        check_java(java_home(tmp_path, line))


def test_a_missing_java_is_an_error(tmp_path: Path) -> None:
    """It says where Java was looked for: on the path, at a wrong home, or a program that fails."""
    with pytest.raises(ConfigError, match="JAVA_HOME is not set, and java on PATH: no Java runs"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(ConfigError, match="JAVA_HOME is /nowhere: no Java runs there"):
        check_java({"JAVA_HOME": "/nowhere"})
    with pytest.raises(ConfigError, match="no Java runs there"):
        check_java(java_home(tmp_path, 'java version "17"', status=1))


class RecordedSession:
    """A session that records its calls, and may refuse a source's name as Spark does."""

    def __init__(self, name: str, done: list[str], refusal: str | None = None) -> None:
        self.dataSource = self
        self._name, self._done, self._refusal = name, done, refusal

    def createDataFrame(self, _rows: object, _schema: object) -> None:  # noqa: N802 - Spark's name
        """Record that this session becomes the active one."""
        self._done.append(f"{self._name} active")

    def register(self, source: type) -> None:
        """Record the registration, and fail if the test says so."""
        self._done.append(f"{self._name} registers {source.__name__}")
        if self._refusal:
            raise AnalysisException("no", errorClass=self._refusal, messageParameters={})


def test_a_session_is_active_while_the_source_is_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Spark searches the active session, and would otherwise find another one's source."""
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
