"""Reads a drain's target and its source with other projects' programs, which know no drains.

A table's files are found by its own metadata (JSON and Avro), not with the library that wrote it;
rows are read with Polars, and the cluster with kafka-python.
"""

import base64
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import fastavro
import polars as pl
from fsspec.core import url_to_fs
from pyarrow import fs

from tests.support.s3_server import file_system

Row = tuple[int, int, str]
"""Partition, offset and value."""

_PLACE = ["partition", "offset", "value"]
_TIMEOUT_S = 300
_DELETED = 2


def landed_rows(path: str, file_format: str, catalog: Mapping[str, str]) -> list[Row]:
    """Return all landed messages, including dead letters, sorted.

    Args:
        path: the drain's path; values must be text.
        file_format: the format: Parquet, JSON, Delta or Iceberg.
        catalog: properties of an Iceberg table's catalog; empty for the drain's own.
    """
    if file_format == "iceberg":
        files = iceberg_files(pointed_to(path, catalog))
    elif file_format == "delta":
        files = delta_files(path)
    else:
        files = files_below(path, "topic=")
    places = [*files, *files_below(path, "_dead_letters/")]
    return sorted(row for place in places for row in _rows_of(place))


def delta_files(path: str) -> list[str]:
    """Return the files that a Delta table's log has added and not removed."""
    system, below = place_of(f"{path}/_delta_log")
    entries = sorted(
        info.path
        for info in system.get_file_info(fs.FileSelector(below))
        if info.path.endswith(".json")
    )
    files: dict[str, None] = {}
    for number, entry in enumerate(entries):
        assert Path(entry).stem == f"{number:020d}", entries
        for line in system.open_input_stream(entry).read().splitlines():
            action = json.loads(line)
            if "add" in action:
                files[unquote(action["add"]["path"])] = None
            elif "remove" in action:
                del files[unquote(action["remove"]["path"])]
    return [f"{path}/{file}" for file in files]


def iceberg_files(metadata: str) -> list[str]:
    """Return the data files of an Iceberg table's current snapshot.

    Args:
        metadata: the path of the table's current metadata.
    """
    table = json.loads(_bytes(metadata))
    [snapshot] = [
        snapshot
        for snapshot in table["snapshots"]
        if snapshot["snapshot-id"] == table["current-snapshot-id"]
    ]
    files = []
    for manifest in _avro(snapshot["manifest-list"]):
        assert manifest["content"] == 0, "it has deletes"
        entries = _avro(manifest["manifest_path"])
        files += [
            entry["data_file"]["file_path"] for entry in entries if entry["status"] != _DELETED
        ]
    return files


def pointed_to(path: str, catalog: Mapping[str, str], name: str = "kafka.messages") -> str:
    """Return the path of a table's metadata from a catalog in SQLite.

    Args:
        path: the drain's path, which contains its own catalog.
        catalog: properties of another catalog; empty for the drain's own.
        name: the table's name.
    """
    uri = catalog.get("uri", f"sqlite:///{path}/catalog.db")
    known = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace=? AND table_name=?"
    with sqlite3.connect(uri.removeprefix("sqlite:///")) as database:
        [(location,)] = database.execute(known, name.rsplit(".", 1)).fetchall()
    return str(location)


def consumed_rows(bootstrap_servers: str, topic: str) -> list[Row]:
    """Return all messages of a topic on 0.8.2, read with kafka-python, sorted."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.kafka_python_dump", bootstrap_servers, topic],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    messages = map(json.loads, done.stdout.splitlines())
    return sorted((partition, offset, value) for partition, offset, value in messages)


def files_below(path: str, beginning: str) -> list[str]:
    """Return the data files below a drain's path whose relative paths have this beginning."""
    system, base = place_of(path)
    infos = system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    # The part before the path within its file system: a scheme, and with HDFS a server.
    before = path.removesuffix(base)
    wanted = str(Path(base) / beginning)
    return [
        f"{before}{item.path}" for item in infos if item.is_file and _is_below(item.path, wanted)
    ]


def place_of(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path (local, bucket or HDFS), and the path within it."""
    if not path.startswith("hdfs://"):
        return file_system(path.removeprefix("file://"))
    system, below = url_to_fs(path)
    return fs.PyFileSystem(fs.FSSpecHandler(system)), below


def _bytes(path: str) -> bytes:
    system, below = place_of(path)
    return bytes(system.open_input_stream(below).read())


def _avro(path: str) -> Iterator[dict[str, Any]]:
    system, below = place_of(path)
    with system.open_input_file(below) as file:
        for record in fastavro.reader(file):
            assert isinstance(record, dict), record
            yield record


def _is_below(path: str, beginning: str) -> bool:
    return path.startswith(beginning.rstrip("/")) and path.endswith((".parquet", ".json"))


def _rows_of(path: str) -> list[Row]:
    file, options = path.removeprefix("file://").replace("s3a://", "s3://", 1), None
    if file.startswith("s3://"):
        names = ("ENDPOINT_URL", "ALLOW_HTTP", "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "REGION")
        options = {f"aws_{name.lower()}": os.environ[f"AWS_{name}"] for name in names}
    is_json = file.endswith(".json")
    if is_json:
        rows = pl.scan_ndjson(file, storage_options=options)
    else:
        rows = pl.scan_parquet(file, storage_options=options, hive_partitioning=False)
    return [
        (partition, offset, (base64.b64decode(value) if is_json else bytes(value)).decode())
        for partition, offset, value in rows.select(_PLACE).collect().rows()
    ]
