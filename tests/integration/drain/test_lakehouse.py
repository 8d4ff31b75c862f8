"""Drains with real servers: a Hive metastore and a schema registry.

``make test-lakehouse``; CI has no time to start them.
"""

import json
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyiceberg.catalog import load_catalog
from pyspark.sql import SparkSession

from tests.integration.drain.test_iceberg_drain import run
from tests.integration.drain.test_local_kills import _Messages, landed, topic
from tests.spark.conftest import spark, spark_log
from tests.support.apicurio_server import apicurio_server
from tests.support.clusters import fresh_name
from tests.support.hive_server import hive_server
from tests.support.killed_drains import killed_drains
from tests.support.schemas import USER, avro_value
from tests.support.traffic import write
from zkconsumer.drain import (
    DecodeSettings,
    DrainSettings,
    drain,
    drain_locally,
    verify,
    verify_locally,
)
from zkconsumer.drain.on_spark.hadoop_storage import HadoopStorage
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

__all__ = ["spark", "spark_log", "topic"]

pytestmark = [pytest.mark.lakehouse, pytest.mark.timeout(1_600)]

EVERY = 9
"""Steps from one kill to the next: after a kill during a commit, Hive's lock must time out."""


@pytest.fixture(scope="module")
def metastore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    """Start a metastore; yield the properties of its catalog."""
    with hive_server(tmp_path_factory.mktemp("hive")) as uri:
        yield {"type": "hive", "uri": uri, "hive.hive2-compatible": "true"}


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start one registry for all tests of this module; yield its URL."""
    with apicurio_server(tmp_path_factory.mktemp("registry")) as url:
        yield url


def test_a_table_is_kept_in_a_metastore(
    cluster: Sandbox, topic: tuple[str, _Messages], metastore: Mapping[str, str], tmp_path: Path
) -> None:
    """The configuration of pyiceberg is enough; Hive knows the table's columns and location."""
    name, written = topic
    where = ("--zookeeper", cluster.zookeeper_connect)
    environ = {"PYICEBERG_CATALOG__LAKEHOUSE__TYPE": "hive"}
    given = [f"{key}={value}" for key, value in metastore.items() if key != "type"]
    catalog = [part for text in given for part in ("--catalog-property", text)]
    to = ("--to", str(tmp_path), "--format", "iceberg", "--catalog", "lakehouse")
    small = ("--table", "raw.events", "--max-offsets-per-batch", "20")
    drained = run("drain", *where, "--topics", name, *to, *small, *catalog, **environ)
    assert drained.returncode == 0, drained.stderr
    verified = run("drain", "verify", str(tmp_path), *where, *catalog, **environ)
    assert verified.returncode == 0, verified.stdout + verified.stderr
    table = load_catalog("lakehouse", **metastore).load_table("raw.events")
    rows = table.scan().to_arrow().to_pylist()
    found = [(row["partition"], row["offset"], row["value"]) for row in rows]
    assert sorted(found) == sorted(written)
    assert len(list(table.snapshots())) == 2
    kept = [file.read_text() for file in (tmp_path / "_zkconsumer").rglob("*.json")]
    assert not [text for text in kept if metastore["uri"] in text]


def test_a_kill_at_any_step_loses_and_repeats_nothing_in_a_metastore(
    cluster: Sandbox, topic: tuple[str, _Messages], metastore: Mapping[str, str], tmp_path: Path
) -> None:
    """After a kill during a commit, Hive keeps the dead process's lock for a while."""
    name, written = topic
    settings = {
        "path": str(tmp_path),
        "zookeeper": cluster.zookeeper_connect,
        "topics": [name],
        "group": fresh_name("steps"),
        "format": "iceberg",
        "max_offsets_per_batch": 20,
        "table": "killed.drainNUMBER",
        "target_options": dict(metastore),
    }
    runs = killed_drains(tmp_path, settings, first=2, every=EVERY, timeout_s=1_500)
    assert len(runs) > 3, runs
    for number, run_ in enumerate(runs):
        table = f"killed.drain{2 + EVERY * number}"
        found = landed(run_["path"], "iceberg", dict(metastore), table)
        assert sorted(found) == sorted(written), run_


def registered(registry: str, subject: str, schema: object) -> int:
    """Register a schema, and return its id."""
    request = urllib.request.Request(
        f"{registry}/subjects/{subject}/versions",
        json.dumps({"schema": json.dumps(schema)}).encode(),
        {"Content-Type": "application/vnd.schemaregistry.v1+json"},
    )
    with urllib.request.urlopen(request, timeout=60) as response:
        number: int = json.load(response)["id"]
    return number


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_values_are_decoded_by_a_real_registry(
    cluster: Sandbox, registry: str, engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Two versions of a schema are found by id; an id that it never gave is a dead letter."""
    name = fresh_name("users")
    cluster.create_topic(name, partitions=2)
    newer = {**USER, "fields": [*USER["fields"], {"name": "at", "type": "long", "default": 0}]}
    first, second = (registered(registry, f"{name}-value", schema) for schema in (USER, newer))
    assert first != second
    old = [avro_value(first, USER, {"id": at, "name": "u"}) for at in range(10)]
    new = [avro_value(second, newer, {"id": at, "name": None, "at": at}) for at in range(10)]
    write(cluster, TopicPartition(name, 0), [*old, avro_value(2**30, USER, {"id": 1})])
    write(cluster, TopicPartition(name, 1), [*new, *old])
    settings = DrainSettings(
        path=str(tmp_path),
        zookeeper=cluster.zookeeper_connect,
        topics=(name,),
        format="iceberg",
        max_offsets_per_batch=12,
        decode=DecodeSettings(format="avro", registry=registry),
    )
    if engine == "local":
        report, proof = drain_locally(settings), verify_locally(str(tmp_path))
    else:
        session: SparkSession = request.getfixturevalue("spark")
        report = drain(session, settings)
        proof = verify(session, HadoopStorage(session, str(tmp_path)))
    assert (report.rows, report.dead_lettered) == (31, 1)
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    where = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    table = load_catalog("default", **where).load_table("kafka.messages").scan().to_arrow()
    decoded = [row["value_decoded"] for row in table.to_pylist()]
    assert sorted(row["id"] for row in decoded) == sorted([*range(10)] * 3)
    assert {row["at"] for row in decoded if row["name"] is None} == set(range(10))
