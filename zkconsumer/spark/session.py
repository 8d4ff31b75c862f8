"""Starts a Spark session in which ``format("zkconsumer")`` works, for commands and tests.

Other programs, also under ``spark-submit``, create their sessions as usual.
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
    """Start a session, or return the active one.

    Workers run this process's interpreter. Sessions are in UTC unless ``settings`` say otherwise,
    so that dates do not depend on the machine.

    Args:
        app_name: the application's name.
        master: the master, such as ``local[2]``; None: that of ``spark-submit``, else ``local[*]``.
        settings: Spark's own settings.
        jars: files for the class path of driver and executors.
        packages: Maven coordinates of packages for Spark to download.

    Raises:
        ConfigError: there is no Java of version ``OLDEST_JAVA`` or later to start Spark with.
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
    """Stop a session; do nothing if its JVM has ended already."""
    with suppress(Py4JError, ConnectionError):
        session.stop()


def register(session: SparkSession) -> None:
    """Register ``format("zkconsumer")`` with a session that could not find it by itself.

    Spark lists the modules on the path, so it does not find those of an editable installation, or
    of ``--py-files``. Spark registers with the thread's active session, whichever one is given, so
    the given one is made active meanwhile. Nothing is done without Python data sources.
    """
    if not HAS_SOURCES:
        return
    from zkconsumer.spark.source import ZkDataSource  # noqa: PLC0415 - loads much

    active = SparkSession.getActiveSession()
    session.createDataFrame([], "unused int")  # makes the session active
    try:
        session.dataSource.register(ZkDataSource)
    except AnalysisException as error:
        if error.getCondition() != _FOUND_BY_SPARK:
            raise
    finally:
        if active is not None:
            active.createDataFrame([], "unused int")


def check_java(environ: Mapping[str, str]) -> None:
    """Check that the Java that Spark will start exists, and is recent enough.

    Raises:
        ConfigError: there is none, or it is too old; names the place that was searched.
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
    """Return whether a JVM is running: that of ``spark-submit``, or of an active session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None
