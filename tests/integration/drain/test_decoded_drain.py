"""Whole drains that decode values: typed columns, dead letters, and the proof of both."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import load_catalog

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name
from tests.support.drain_kills import command
from tests.support.killed_drains import killed_drains
from tests.support.registry_server import RegistryServer, registry_server
from tests.support.schemas import USER, avro_bytes, avro_value
from tests.support.traffic import write
from zkconsumer.drain import DecodeSettings, DrainSettings, drain_locally, verify_locally
from zkconsumer.drain.proving.proof import ProofOutcome
from zkconsumer.drain.proving.report import as_text
from zkconsumer.errors import ConfigError, SchemaError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

FORMATS = [part for part in os.environ.get("FORMATS", "iceberg").split(",") if part != "json"]
"""The formats that are killed: an Iceberg table has the steps of plain files, and its own."""
EVERY = int(os.environ.get("EVERY", "60"))
_SECONDS = 300 if EVERY > 1 else 1_500

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(_SECONDS + 100)]

EVOLVED = {
    **USER,
    "fields": [*USER["fields"], {"name": "at", "type": "long"}],
}
WRITE_WITH_HEADER = """
import sys
from kafka import KafkaProducer
header = ("__value_schema_id", bytes.fromhex(sys.argv[3]))
producer = KafkaProducer(bootstrap_servers=sys.argv[1])
for value in sys.argv[4:]:
    producer.send(sys.argv[2], bytes.fromhex(value), headers=[header]).get(30)
producer.close()
"""
GARBAGE = b"\0\0\0\0\1\xff\xff"


@pytest.fixture(name="registry")
def _registry() -> Iterator[RegistryServer]:
    with registry_server() as registry:
        registry.by_id[1] = {"schema": json.dumps(USER)}
        registry.by_id[2] = {"schema": json.dumps(EVOLVED)}
        yield registry


@pytest.fixture(name="topic")
def _topic(cluster: Sandbox) -> str:
    """Create two partitions with values of an old and a newer schema, and three broken values."""
    name = fresh_name("users")
    cluster.create_topic(name, partitions=2)
    old = [avro_value(1, USER, {"id": at, "name": f"u{at}"}) for at in range(10)]
    new = [avro_value(2, EVOLVED, {"id": at, "name": None, "at": at}) for at in range(10, 20)]
    write(cluster, TopicPartition(name, 0), [*old, GARBAGE, *new])
    write(cluster, TopicPartition(name, 1), [b"plain", *new, avro_value(9, USER, {"id": 1}), *old])
    return name


def settings_for(sandbox: Sandbox, topic: str, path: Path, **decode: Any) -> DrainSettings:
    """Return settings for batches of about 20 messages."""
    return DrainSettings(
        path=str(path),
        zookeeper=sandbox.zookeeper_connect,
        topics=(topic,),
        max_offsets_per_batch=20,
        decode=DecodeSettings(**{"format": "avro", **decode}),
    )


def rows_in(path: Path, below: str = "topic=*") -> list[dict[str, Any]]:
    """Return the rows of all files, without the columns in their folders' names."""
    files = sorted(path.glob(f"{below}/date=*/*.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def table_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a drain's own Iceberg table, in the order of offsets."""
    where = {"type": "sql", "uri": f"sqlite:///{path}/catalog.db"}
    rows = load_catalog("default", **where).load_table("kafka.messages").scan().to_arrow()
    return sorted(rows.to_pylist(), key=lambda row: (row["partition"], row["offset"]))


def check_users(path: Path, landed: list[dict[str, Any]]) -> None:
    """Check that each value landed once and typed, and the others as dead letters."""
    users = sorted(row["value_decoded"]["id"] for row in landed)
    assert users == sorted([*range(20), *range(20)])
    assert {row["schema_id"] for row in landed} == {1, 2}
    newer = [row["value_decoded"] for row in landed if row["schema_id"] == 2]
    assert {row["id"] - row["at"] for row in newer} == {0}
    dead = sorted(
        rows_in(path, "_dead_letters/topic=*"), key=lambda row: (row["partition"], row["offset"])
    )
    assert [(row["partition"], row["offset"], row["schema_id"]) for row in dead] == [
        (0, 10, 1),
        (1, 0, None),
        (1, 11, 9),
    ]
    assert [row["value"] for row in dead] == [
        GARBAGE,
        b"plain",
        avro_value(9, USER, {"id": 1}),
    ]
    assert [row["reason"] for row in dead] == [
        "the value is truncated",
        "it does not begin with a magic byte 0 and a schema id",
        "there is no schema 9",
    ]
    assert all("headers" in row and "timestamp" in row for row in dead)


def test_values_become_columns_and_the_rest_dead_letters(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """The command lands both, the proof counts both, and both agree with the cluster."""
    path = tmp_path / "lake"
    where = ("--zookeeper", cluster.zookeeper_connect)
    arguments = ("--topics", topic, "--to", str(path), "--max-offsets-per-batch", "20")
    decode = ("--decode", "avro", "--schema-registry", registry.url, "--engine", "local")
    drained = run("drain", *where, *arguments, *decode)
    assert drained.returncode == 0, drained.stderr
    assert "Landed 43 messages" in drained.stderr
    assert f"3 of them could not be decoded: {path}/_dead_letters" in drained.stderr
    check_users(path, rows_in(path))
    assert sorted(registry.requests) == ["/schemas/ids/1", "/schemas/ids/2", "/schemas/ids/9"]
    verified = run("drain", "verify", str(path), *where, "--engine", "local")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    assert f"dead letters, in _dead_letters: 1 of {topic}-0, 2 of {topic}-1" in verified.stdout
    assert "PROVEN" in verified.stdout
    again = run("drain", *where, *arguments, "--engine", "local")
    assert again.returncode == 2
    assert "--decode and --schema-id" in again.stderr


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return warm.run(command(*arguments), capture_output=True, text=True, check=False, timeout=120)


def test_a_continued_drain_decodes_with_the_schemas_that_it_kept(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """If the registry fails, only an unknown schema ends the run, and nothing is lost by that."""
    settings = settings_for(cluster, topic, tmp_path, registry=registry.url)
    assert drain_locally(settings).dead_lettered == 3
    registry.by_id.clear()
    registry.by_id[2] = {"schema": '"another"'}
    value = avro_value(2, EVOLVED, {"id": 99, "name": None, "at": 1})
    write(cluster, TopicPartition(topic, 0), [value])
    assert drain_locally(settings).dead_lettered == 0
    assert [row["value_decoded"]["id"] for row in rows_in(tmp_path)].count(99) == 1
    registry.responder = lambda handler: handler.send_error(500)
    write(cluster, TopicPartition(topic, 0), [avro_value(3, USER, {"id": 100, "name": "late"})])
    with pytest.raises(SchemaError, match="responded with 500"):
        drain_locally(settings)
    registry.responder = None
    registry.by_id[3] = {"schema": json.dumps(USER)}
    assert drain_locally(settings).dead_lettered == 0
    proof = verify_locally(str(tmp_path), cluster={"zookeeper.connect": cluster.zookeeper_connect})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert proof.dead_lettered == 3
    assert [row["value_decoded"]["id"] for row in rows_in(tmp_path)].count(100) == 1


def test_a_delta_table_gains_columns_and_has_no_dead_letters(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """The first batch has the first schema, later ones the second."""
    from deltalake import DeltaTable  # noqa: PLC0415 - loads much

    settings = settings_for(cluster, topic, tmp_path, registry=registry.url)
    settings = replace(settings, format="delta", max_offsets_per_batch=10)
    assert drain_locally(settings).dead_lettered == 3
    table = DeltaTable(str(tmp_path))
    kinds = {field.name: str(field.type) for field in table.schema().fields}
    assert {"schema_id", "schema_guid", "value", "topic", "date"} <= kinds.keys()
    rows = pa.table(table.to_pyarrow_table()).to_pylist()
    assert sorted(row["value_decoded"]["id"] for row in rows) == sorted([*range(20), *range(20)])
    assert {row["value_decoded"]["at"] for row in rows if row["schema_id"] == 1} == {None}
    check_users(tmp_path, rows)
    proof = verify_locally(str(tmp_path), cluster={"zookeeper.connect": cluster.zookeeper_connect})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)


@pytest.mark.parametrize("schema_id", ["column", "strip"])
def test_an_iceberg_table_gains_columns_and_has_no_dead_letters(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path, schema_id: str
) -> None:
    """A newer schema's fields are added to the struct with field ids of their own."""
    settings = settings_for(cluster, topic, tmp_path, registry=registry.url, schema_id=schema_id)
    settings = replace(settings, format="iceberg", max_offsets_per_batch=10)
    assert drain_locally(settings).dead_lettered == 3
    rows = table_rows(tmp_path)
    check_users(tmp_path, rows)
    assert {row["value_decoded"]["at"] for row in rows if row["schema_id"] == 1} == {None}
    assert {row["topic"] for row in rows} == {topic}
    assert all(("value_prefix" in row) == (schema_id == "strip") for row in rows)
    proof = verify_locally(str(tmp_path), cluster={"zookeeper.connect": cluster.zookeeper_connect})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)
    assert proof.dead_lettered == 3
    next(tmp_path.glob("_dead_letters/topic=*/date=*/*.parquet")).unlink()
    proof = verify_locally(str(tmp_path))
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert "dead letters: 1 files of the landing are missing" in as_text(proof)


@pytest.mark.parametrize("decoded", [True, False])
def test_values_without_their_schema_ids_are_proven(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path, decoded: bool
) -> None:
    """The stripped prefix is in a column of its own, so checksums agree with the cluster."""
    wanted = {"registry": registry.url} if decoded else {"format": None}
    settings = settings_for(cluster, topic, tmp_path, schema_id="strip", **wanted)
    drain_locally(settings)
    rows = rows_in(tmp_path)
    assert len(rows) == (40 if decoded else 43)
    payload = avro_bytes(USER, {"id": 3, "name": "u3"})
    assert [row["value_prefix"] for row in rows if row["value"] == payload] == [b"\0\0\0\0\1"] * 2
    proof = verify_locally(str(tmp_path), cluster={"zookeeper.connect": cluster.zookeeper_connect})
    assert proof.outcome is ProofOutcome.PROVEN, as_text(proof)


def test_bare_json_is_decoded_by_its_subject(cluster: Sandbox, tmp_path: Path) -> None:
    """Values without schema ids are decoded by the subject's schema in a folder."""
    topic, folder = fresh_name("clicks"), tmp_path / "schemas"
    cluster.create_topic(topic, partitions=1)
    folder.mkdir()
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    (folder / f"{topic}-value.json").write_text(json.dumps(schema))
    write(cluster, TopicPartition(topic, 0), [b'{"n": 1}', b'{"n": "x"}', b"{}"])
    path = tmp_path / "lake"
    settings = settings_for(cluster, topic, path, format="json", schemas=str(folder), bare=True)
    assert drain_locally(settings).dead_lettered == 1
    assert [row["value_decoded"] for row in rows_in(path)] == [{"n": 1}, {"n": None}]
    assert [row["reason"] for row in rows_in(path, "_dead_letters/topic=*")] == [
        "'x' is not a 64-bit integer"
    ]


def test_lost_dead_letters_are_not_proven(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """A missing file of dead letters counts like a missing file of messages."""
    drain_locally(settings_for(cluster, topic, tmp_path, registry=registry.url))
    next(tmp_path.glob("_dead_letters/topic=*/date=*/*.parquet")).unlink()
    proof = verify_locally(str(tmp_path))
    assert proof.outcome is ProofOutcome.NOT_PROVEN
    assert "dead letters: 1 files of the landing are missing" in as_text(proof)


def test_headers_name_schemas_and_are_kept(
    broker_of: BrokerOf, registry: RegistryServer, tmp_path: Path
) -> None:
    """Serializers of Confluent Platform 8.0 put a GUID there; the value is only the payload."""
    sandbox, topic = broker_of("3.9.1"), fresh_name("headers")
    sandbox.create_topic(topic, partitions=1)
    guid = "0f3c1b5e-9d3a-4a51-8f3e-2c6a17a0b9d4"
    registry.by_guid[guid] = {"schema": json.dumps(USER)}
    header = b"\1" + bytes.fromhex(guid.replace("-", ""))
    good = avro_bytes(USER, {"id": 5, "name": None})
    subprocess.run(
        [
            *(sys.executable, "-c", WRITE_WITH_HEADER, sandbox.bootstrap_servers, topic),
            *(header.hex(), good.hex(), "ff"),
        ],
        check=True,
        timeout=60,
    )
    drain_locally(settings_for(sandbox, topic, tmp_path, registry=registry.url))
    (row,) = rows_in(tmp_path)
    assert (row["schema_id"], row["schema_guid"]) == (None, guid)
    assert row["value_decoded"] == {"id": 5, "name": None}
    (dead,) = rows_in(tmp_path, "_dead_letters/topic=*")
    assert dead["headers"] == [{"key": "__value_schema_id", "value": header}]
    assert (dead["value"], dead["schema_guid"]) == (b"\xff", guid)


def test_wrong_settings_are_refused_with_a_sentence(cluster: Sandbox, tmp_path: Path) -> None:
    """They are refused before anything is requested."""
    settings = settings_for(cluster, "t", tmp_path, schemas=str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="is not a directory"):
        drain_locally(settings)
    with pytest.raises(ConfigError, match="exactly one of"):
        drain_locally(settings_for(cluster, "t", tmp_path))


@pytest.mark.parametrize("file_format", FORMATS)
def test_kills_at_any_step_lose_and_repeat_no_dead_letter(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path, file_format: str
) -> None:
    """Killed before and after each step, schemas included, each drain is finished and proven."""
    settings = {
        "path": str(tmp_path),
        "zookeeper": cluster.zookeeper_connect,
        "topics": [topic],
        "group": fresh_name("decoded"),
        "format": file_format,
        "max_offsets_per_batch": 20,
        "decode": {"format": "avro", "registry": registry.url},
    }
    first = random.randint(1, EVERY)
    runs = killed_drains(tmp_path, settings, first=first, every=EVERY, timeout_s=_SECONDS)
    for path in (Path(run["path"]) for run in runs):
        check_users(path, table_rows(path) if file_format == "iceberg" else rows_in(path))


def test_the_example_of_the_docs_runs(
    cluster: Sandbox, topic: str, registry: RegistryServer, tmp_path: Path
) -> None:
    """It lands a topic, and reads the messages and the dead letters."""
    program = Path(__file__).parents[3] / "docs/examples/decoded_drain.py"
    where = (cluster.zookeeper_connect, topic, registry.url, str(tmp_path / "lake"))
    done = subprocess.run(
        [sys.executable, str(program), *where],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    first, *letters = done.stdout.splitlines()
    kind = "struct<id: int64, name: string, at: int64>"
    assert first == f"landed 40 of 43 messages: value_decoded is {kind}"
    assert letters[0] == f"dead letter at {topic}-0 offset 10: the value is truncated"
    assert len(letters) == 3
