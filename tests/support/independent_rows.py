"""A landing and its cluster by programs of others: neither knows anything of drains.

Which files a table has is read here from its own metadata, JSON and Avro, not by the libraries that
wrote it; rows are read by Polars, and the cluster by kafka-python.
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
    """All messages of a landing, dead letters included, sorted.

    Args:
        path: of the drain; values are text.
        file_format: Parquet's, JSON's, Delta's or Iceberg's.
        catalog: properties of an Iceberg table's; empty for the drain's own.
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
    """The files that the log of a Delta table adds and does not remove, from its first entry on."""
    system, below = place_of(f"{path}/_delta_log")
    entries = sorted(
        info.path
        for info in system.get_file_info(fs.FileSelector(below))
        if info.path.endswith(".json")
    )
    found: dict[str, None] = {}
    for number, entry in enumerate(entries):
        assert Path(entry).stem == f"{number:020d}", entries
        for line in system.open_input_stream(entry).read().splitlines():
            action = json.loads(line)
            if "add" in action:
                found[unquote(action["add"]["path"])] = None
            elif "remove" in action:
                del found[unquote(action["remove"]["path"])]
    return [f"{path}/{file}" for file in found]


def iceberg_files(metadata: str) -> list[str]:
    """The data files that the current snapshot of an Iceberg table names.

    Args:
        metadata: where the table's current metadata is.
    """
    table = json.loads(_bytes(metadata))
    [snapshot] = [
        snapshot
        for snapshot in table["snapshots"]
        if snapshot["snapshot-id"] == table["current-snapshot-id"]
    ]
    found = []
    for manifest in _avro(snapshot["manifest-list"]):
        assert manifest["content"] == 0, "it has deletes"
        entries = _avro(manifest["manifest_path"])
        found += [
            entry["data_file"]["file_path"] for entry in entries if entry["status"] != _DELETED
        ]
    return found


def pointed_to(path: str, catalog: Mapping[str, str], name: str = "kafka.messages") -> str:
    """Where a catalog in SQLite says that a table's metadata is.

    Args:
        path: of the drain, whose own catalog lies there.
        catalog: properties of another catalog; empty for the drain's own.
        name: of the table.
    """
    uri = catalog.get("uri", f"sqlite:///{path}/catalog.db")
    known = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace=? AND table_name=?"
    with sqlite3.connect(uri.removeprefix("sqlite:///")) as database:
        [(location,)] = database.execute(known, name.rsplit(".", 1)).fetchall()
    return str(location)


def consumed_rows(bootstrap_servers: str, topic: str) -> list[Row]:
    """All messages of a topic of 0.8.2, as kafka-python reads them, sorted."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.kafka_python_dump", bootstrap_servers, topic],
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    found = map(json.loads, done.stdout.splitlines())
    return sorted((partition, offset, value) for partition, offset, value in found)


def files_below(path: str, beginning: str) -> list[str]:
    """The data files below a drain's path whose own paths begin so."""
    system, base = place_of(path)
    found = system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    # What stands before a path in its file system: a scheme, and in HDFS a server.
    before = path.removesuffix(base)
    wanted = str(Path(base) / beginning)
    return [
        f"{before}{item.path}" for item in found if item.is_file and _is_below(item.path, wanted)
    ]


def place_of(path: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path of this machine, a bucket or HDFS, and the path in it."""
    if not path.startswith("hdfs://"):
        return file_system(path.removeprefix("file://"))
    found, below = url_to_fs(path)
    return fs.PyFileSystem(fs.FSSpecHandler(found)), below


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
