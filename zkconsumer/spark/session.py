"""Starts a Spark session in which ``format("zkconsumer")`` works, for commands and tests.

A program of its own, and one that runs under ``spark-submit``, makes its session as ever.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from zkconsumer.errors import ConfigError
from zkconsumer.spark.compat import HAS_SOURCES, OLDEST_JAVA

_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_JAVA_TIMEOUT_S = 60
_FOUND_BY_SPARK = "DATA_SOURCE_ALREADY_EXISTS"


def build_session(
    app_name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    jars: Sequence[Path] = (),
    packages: Sequence[str] = (),
) -> SparkSession:
    """Start a session, or take the one that is active.

    Workers run the interpreter that this runs in. Sessions are in UTC unless ``settings`` say
    otherwise, so that dates are the same wherever it runs.

    Args:
        app_name: the application's name.
        master: such as ``local[2]``; None leaves it to ``spark-submit``, else ``local[*]``.
        settings: Spark's own.
        jars: files for the class path of driver and executors.
        packages: Maven coordinates that Spark is to fetch.

    Raises:
        ConfigError: there is no Java of version 17 or later to start Spark with.
    """
    if not _runs_inside_spark():
        check_java(os.environ)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if master is not None:
        builder = builder.master(master)
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    if jars:
        builder = builder.config("spark.jars", ",".join(str(jar) for jar in jars))
    if packages:
        builder = builder.config("spark.jars.packages", ",".join(packages))
    for key, value in (settings or {}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    register(session)
    return session


def close_session(session: SparkSession) -> None:
    """Stop a session; nothing happens where its JVM is gone already, and took it along."""
    with suppress(Py4JError, ConnectionError):
        session.stop()


def register(session: SparkSession) -> None:
    """Make ``format("zkconsumer")`` known to a session that could not find it by itself.

    Spark lists the modules on the path, so it does not see one that an editable installation maps,
    or that came with ``--py-files``. It looks in the thread's active session, whichever is given.
    Nothing happens where Spark knows no sources in Python.
    """
    if not HAS_SOURCES:
        return
    from zkconsumer.spark.source import ZkDataSource  # noqa: PLC0415 - loads much

    active = SparkSession.getActiveSession()
    session.createDataFrame([], "unused int")  # makes it the active one
    try:
        session.dataSource.register(ZkDataSource)
    except AnalysisException as error:
        if error.getCondition() != _FOUND_BY_SPARK:
            raise
    finally:
        if active is not None:
            active.createDataFrame([], "unused int")


def check_java(environ: Mapping[str, str]) -> None:
    """See whether the Java that Spark will start is there, and young enough.

    Raises:
        ConfigError: it is not; the message says where it looked.
    """
    home = environ.get("JAVA_HOME", "")
    if home:
        program: str | None = str(Path(home) / "bin" / "java")
        where = f"JAVA_HOME is {home}"
    else:
        program = shutil.which("java", path=environ.get("PATH", ""))
        where = "JAVA_HOME is not set, and java on PATH" + (f" is {program}" if program else "")
    advice = f"Spark needs Java {OLDEST_JAVA} or later: install one, or set JAVA_HOME"
    version = None if program is None else _version_of(program)
    if version is None:
        raise ConfigError(f"{where}: no Java runs there. {advice}")
    if version < OLDEST_JAVA:
        raise ConfigError(f"{where}: that is Java {version}. {advice}")


def _version_of(program: str) -> int | None:
    try:
        message = subprocess.run(  # noqa: S603 - the Java that Spark itself would start
            [program, "-version"],
            capture_output=True,
            text=True,
            timeout=_JAVA_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(message.stderr + message.stdout)
    return int(found[1]) if found and message.returncode == 0 else None


def _runs_inside_spark() -> bool:
    """Return whether a JVM is there already: that of ``spark-submit``, or of an active session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None
