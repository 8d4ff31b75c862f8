"""A local drain to HDFS: ``make test-hdfs``, on a real NameNode and DataNode."""

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from hdfs_native import Client

from tests.integration.drain.test_local_kills import _Messages, check_every_kill_is_survived, topic
from tests.support.clusters import fresh_name
from tests.support.hdfs_server import hdfs_server
from tests.support.storage_contract import *  # noqa: F403 - its tests
from zkconsumer.drain.local import formats
from zkconsumer.drain.local.columns import SCHEMA
from zkconsumer.drain.local.hdfs_storage import HdfsStorage
from zkconsumer.drain.local.landed import LocalRows
from zkconsumer.drain.local.memory import Shares
from zkconsumer.errors import DrainError
from zkconsumer.sandbox import Sandbox

__all__ = ["topic"]

pytestmark = [pytest.mark.hdfs, pytest.mark.timeout(1_600)]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start one server for all tests of this module; yield its URL."""
    with hdfs_server() as url:
        yield url


@pytest.fixture
def storage(server: str) -> HdfsStorage:
    """Give an empty folder, whose name has special characters."""
    return HdfsStorage(f"{server}/{fresh_name('lake')}/a drain #1")


def test_only_one_of_many_clients_creates_a_file(storage: HdfsStorage) -> None:
    """The file has the winner's content, and nothing else is left."""
    others = [HdfsStorage(storage.uri("")) for _ in range(8)]

    def create(number: int) -> bool:
        return others[number].create("plans/1.json", b"{%d}" % number)

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(create, range(8)))
    assert won.count(True) == 1
    assert storage.read("plans/1.json") == b"{%d}" % won.index(True)
    assert storage.names("plans") == ["1.json"]
    assert storage.create("plans/1.json", b"{%d}" % won.index(True)), "its own response got lost"


@pytest.mark.parametrize("file_format", ["parquet", "json"])
def test_rows_are_written_and_read(storage: HdfsStorage, file_format: str) -> None:
    """A damaged file counts as missing."""
    good, cut = "topic=t/date=2014-05-13/good", "topic=t/date=2014-05-13/cut"
    file = formats.create(storage, good, file_format)
    row = {"value": b"v" * 999, "partition": 0, "offset": 7, "timestampType": -1}
    file.write(pa.Table.from_pylist([row], SCHEMA))
    file.close()
    whole = storage.read(good)
    assert whole is not None
    storage.create(cut, whole[:200] + b"?" * 200 + whole[400:-9])

    def rows_of(path: str) -> int:
        found = LocalRows(storage, [path], file_format, Shares.of(256, 1)).contents()
        return sum(contents.rows for contents in found.values())

    assert (rows_of(good), rows_of(cut)) == (1, 0)
    assert storage.files("") == sorted(storage.files(""))


def test_an_error_of_hdfs_is_one_line(server: str) -> None:
    """It has the path, and no Java stack trace."""
    Client(server).create("/a-file").close()
    below = HdfsStorage(f"{server}/a-file/below")
    with pytest.raises(DrainError, match=rf"^{server}/a-file/below, at 'x': [^\n]+$"):
        below.create("x", b"1")


@pytest.mark.parametrize("file_format", ["parquet", "json", "delta"])
def test_a_drain_is_landed_and_proven(
    cluster: Sandbox, topic: tuple[str, _Messages], server: str, file_format: str
) -> None:
    """A second run has nothing to do, and a different drain to the same path is refused."""
    name, written = topic
    path = f"{server}/{fresh_name('lake')}/kafka"
    where = ("--zookeeper", cluster.zookeeper_connect)
    drain = ("drain", *where, "--to", path, "--engine", "local", "--format", file_format, "--json")
    for rows in (len(written), 0):
        done = zkconsumer(*drain, "--topics", name)
        assert (done.returncode, json.loads(done.stdout.splitlines()[-1])["rows"]) == (0, rows)
    proof = zkconsumer("drain", "verify", path, "--engine", "local", *where)
    assert (proof.returncode, proof.stdout.splitlines()[-1][:7]) == (0, "PROVEN:"), proof.stderr
    refused = zkconsumer(*drain, "--topics", f"{name},another")
    assert refused.returncode == 2


def test_an_iceberg_table_is_refused(server: str, cluster: Sandbox) -> None:
    """The error is one line that names the alternatives."""
    drain = ("drain", "--zookeeper", cluster.zookeeper_connect, "--topics", "t", "--format")
    done = zkconsumer(*drain, "iceberg", "--to", f"{server}/x", "--engine", "local")
    refusal = (
        f"--format iceberg can't be kept in hdfs:// ({server}/x), on no engine: give a folder or a "
        "bucket, or another format"
    )
    assert (done.returncode, done.stderr) == (2, f"zkconsumer: {refusal}\n")


def test_spark_proves_what_was_landed_without_it(
    cluster: Sandbox, topic: tuple[str, _Messages], server: str
) -> None:
    """Spark continues the drain, too: plans and manifests are the same."""
    name, _ = topic
    path = f"{server}/{fresh_name('lake')}"
    where = ("--zookeeper", cluster.zookeeper_connect)
    drain = ("drain", *where, "--to", path, "--topics", name)
    assert zkconsumer(*drain, "--engine", "local").returncode == 0
    again = zkconsumer(*drain, "--engine", "spark")
    assert again.returncode == 0, again.stderr
    proof = zkconsumer("drain", "verify", path, "--engine", "spark", *where)
    assert proof.returncode == 0, proof.stdout + proof.stderr


@pytest.mark.parametrize("file_format", ["parquet", "json", "delta"])
def test_a_kill_at_any_step_loses_and_repeats_nothing_in_hdfs(
    cluster: Sandbox,
    topic: tuple[str, _Messages],
    server: str,
    file_format: str,
    tmp_path: Path,
) -> None:
    """Killed before and after steps, the same command finishes the drain, and both proofs agree."""
    path = f"{server}/{fresh_name('kills')}"
    check_every_kill_is_survived(cluster, topic, file_format, (path, tmp_path))


def zkconsumer(*words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(
        [sys.executable, "-m", "zkconsumer", *words], capture_output=True, text=True, check=False
    )
