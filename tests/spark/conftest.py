"""A Spark session for all tests marked ``spark``, and three brokers with short timeouts.

The other clusters are those of the whole suite.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.interop.mixed_group import MixedGroup
from tests.support.hadoop_aws import hadoop_aws_jars
from tests.support.quick_spark import INTERPRETED, JAVA, LOCAL
from tests.support.spark_connector import connector_jars
from zkconsumer.sandbox import Sandbox
from zkconsumer.spark.compat import HAS_READ_LIMITS
from zkconsumer.spark.session import build_session

SETTINGS = {
    **LOCAL,
    **INTERPRETED,
    "spark.driver.memory": "1g",
    # Spark's plans recurse deeply: with the default stack size a stream sometimes overflowed it.
    "spark.driver.extraJavaOptions": f"-Xss4m {JAVA}",
}


TIMEOUT_S = max(300, int(os.environ.get("PYTEST_TIMEOUT", "0")))
"""The first test waits for the servers, for Spark, and for its first Python workers. A test that
times out within a call leaves the session unusable for all later tests."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give this folder's tests a longer timeout, unless they set one."""
    folder = Path(__file__).parent
    for item in items:
        if folder in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of the session's JVM and its Python workers, for all tests."""
    log = tmp_path_factory.mktemp("spark") / "log"
    log.touch()
    return log


@pytest.fixture(autouse=True)
def _logged(spark_log: Path) -> Iterator[None]:
    """Print what a test added to the log, which pytest shows if it fails."""
    with spark_log.open("rb") as log:
        log.seek(0, os.SEEK_END)
        yield
        sys.stderr.write(log.read().decode("utf-8", "replace"))


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Redirect the standard error of processes that are started in the block to the log."""
    own = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(own, 2)
        os.close(own)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory, spark_log: Path) -> Iterator[SparkSession]:
    """Start a local session with two threads.

    Tests change its settings only in a ``newSession()``.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        warehouse = str(tmp_path_factory.mktemp("warehouse"))
        with _stderr_to(spark_log):
            session = build_session(
                "zkconsumer tests",
                master="local[2]",
                settings=SETTINGS | {"spark.sql.warehouse.dir": warehouse},
                # They are for Spark 4.2 and later.
                jars=[*connector_jars(), *hadoop_aws_jars()] if HAS_READ_LIMITS else (),
            )
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()


QUICK = {
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "2000",
    "controller.socket.timeout.ms": "1500",
    "replica.socket.timeout.ms": "1500",
}


@dataclass(frozen=True, slots=True)
class Brokers:
    """Three brokers whose failures are noticed soon, and their folder."""

    cluster: Sandbox
    folder: Path


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Start the shared brokers: a test that stops one starts it again."""
    folder = tmp_path_factory.mktemp("brokers")
    with Sandbox(
        brokers=3, zookeeper_tick_ms=200, broker_properties=QUICK, work_dir=folder
    ) as cluster:
        yield Brokers(cluster, folder)


@pytest.fixture
def group(cluster: Sandbox, tmp_path: Path) -> Iterator[MixedGroup]:
    """Give a fresh group on the session's cluster, for members of both kinds."""
    mixed = MixedGroup(cluster, tmp_path)
    try:
        yield mixed
    finally:
        mixed.close()


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """Return a folder for a query's checkpoint."""
    return str(tmp_path / "checkpoint")
