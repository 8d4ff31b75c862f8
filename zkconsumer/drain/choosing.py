"""Chooses the engine that a command runs on. Pure.

Most drains need neither a Spark cluster nor Java, so the local engine runs unless Spark is
requested or needed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote, urlsplit

from zkconsumer.errors import ConfigError

EngineName = Literal["local", "spark"]
ENGINES = ("auto", "local", "spark")
DEFAULT_MEMORY_MB = 256
LEAST_MEMORY_MB = 192

_OF_SPARK = (
    *("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"),
    *("SPARK_CONF_DIR", "PYSPARK_SUBMIT_ARGS"),
)
"""Variables set by ``spark-submit``, or by the configuration of Spark."""
_OF_HADOOP = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
"""Variables of Hadoop's configuration: paths without a scheme are then usually on HDFS."""
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")
"""A URI scheme, which has more than one letter, unlike a Windows drive."""
_SCHEMES = frozenset({"file", "s3", "s3a", "hdfs"})
_SCHEMES_OF_HADOOP = frozenset({"s3a", "hdfs"})
_FORMATS = frozenset({"parquet", "json", "delta", "iceberg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """A command's options for its Spark session, if it has one.

    Attributes:
        master: the cluster's master; None: Spark's configured one, or this machine.
        settings: Spark's own settings.
        jars: files for the class path.
        packages: Maven coordinates of packages to download.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    jars: Sequence[str] = ()
    packages: Sequence[str] = ()

    def flags(self) -> list[str]:
        """Return the flags that were given."""
        given = {
            "--master": self.master,
            "--package": self.packages,
            "--jars": self.jars,
            "--conf": self.settings,
        }
        return [flag for flag, value in given.items() if value]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineRequest:
    """The engine-related arguments of a command line.

    Attributes:
        engine: the value of ``--engine``.
        memory_mb: the value of ``--memory``; None if not given.
        path: the drain's path.
        format: the drain's format; None if only the drain's own files record it.
        spark: options for Spark.
    """

    engine: str
    path: str
    memory_mb: int | None = None
    format: str | None = None
    spark: SparkOptions = field(default_factory=SparkOptions)


def choose(request: EngineRequest, environ: Mapping[str, str]) -> EngineName:
    """Return the engine to run on.

    Raises:
        ConfigError: the local engine is requested but can't run this, or flags contradict each
            other.
    """
    obstacle, spark_flags = beyond_local(request.path, request.format), request.spark.flags()
    if request.engine == "local":
        if spark_flags:
            raise ConfigError(f"{spark_flags[0]} is for --engine spark, and --engine is local")
        if obstacle is not None:
            raise ConfigError(obstacle)
        _check_memory(request.memory_mb)
        return "local"
    if request.engine == "spark":
        if request.memory_mb is not None:
            raise ConfigError("--memory is for --engine local: Spark has spark.driver.memory")
        return "spark"
    if request.memory_mb is not None and spark_flags:
        raise ConfigError(
            f"--memory is for --engine local, and {spark_flags[0]} for --engine spark: "
            "leave one of them out"
        )
    is_hadoops = _is_hadoops(request.path, environ)
    configured = spark_flags or is_hadoops or any(map(environ.get, _OF_SPARK))
    if request.memory_mb is None and (configured or obstacle is not None):
        return "spark"
    if request.memory_mb is not None and obstacle is not None:
        raise ConfigError(obstacle)
    _check_memory(request.memory_mb)
    return "local"


def beyond_local(path: str, file_format: str | None) -> str | None:
    """Return why the local engine can't run this, as a sentence; None if it can."""
    if file_format is not None and file_format not in _FORMATS:
        what = "--to kafka" if file_format == "kafka" else f"--format {file_format}"
        return f"the local engine can't do {what}: use --engine spark"
    scheme = scheme_of(path)
    if scheme not in _SCHEMES:
        return f"the local engine can't write to {scheme}:// ({path}): use --engine spark"
    return None


def scheme_of(path: str) -> str:
    """Return a path's URI scheme; ``file`` if it has none."""
    found = _SCHEME.match(path)
    return found[1].lower() if found else "file"


def local_path(path: str) -> str:
    """Strip the scheme ``file:`` from a local path."""
    if _SCHEME.match(path) and scheme_of(path) == "file":
        return unquote(urlsplit(path).path)
    return path


def _is_hadoops(path: str, environ: Mapping[str, str]) -> bool:
    """Return whether the path's address and credentials come from Hadoop's settings."""
    if _SCHEME.match(path) is None:
        return any(map(environ.get, _OF_HADOOP))
    return scheme_of(path) in _SCHEMES_OF_HADOOP


def _check_memory(memory_mb: int | None) -> None:
    if memory_mb is not None and memory_mb < LEAST_MEMORY_MB:
        raise ConfigError(f"--memory is {memory_mb}: it must be {LEAST_MEMORY_MB} or more (in MB)")
