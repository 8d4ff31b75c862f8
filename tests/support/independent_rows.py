"""A landing by Polars, and the cluster by a plain consumer: neither knows anything of drains."""

import base64
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from deltalake import DeltaTable
from pyarrow import fs
from pyiceberg.catalog import load_catalog

from tests.support.drain_kills import command
from tests.support.s3_server import file_system

Row = tuple[int, int, str]
"""Partition, offset and value."""

_PLACE = ["partition", "offset", "value"]
_TIMEOUT_S = 300


def landed_rows(path: str, file_format: str, catalog: Mapping[str, str]) -> list[Row]:
    """All messages of a landing, dead letters included, sorted.

    Args:
        path: of the drain; values are text.
        file_format: Parquet's, JSON's, Delta's or Iceberg's.
        catalog: properties of an Iceberg table's; empty for the drain's own.
    """
    if file_format == "delta":
        files = DeltaTable(path).file_uris()
    elif file_format == "iceberg":
        own = {"type": "sql", "uri": f"sqlite:///{path}/catalog.db"}
        table = load_catalog("default", **(catalog or own)).load_table("kafka.messages")
        files = [task.file.file_path for task in table.scan().plan_files()]
    else:
        files = _below(path, "topic=")
    places = [*files, *_below(path, "_dead_letters/")]
    return sorted(row for place in places for row in _rows_of(place.removeprefix("file://")))


def consumed_rows(zookeeper: str, topic: str, count: int) -> list[Row]:
    """The first so many messages of a topic, as ``zkconsumer consume`` prints them, sorted."""
    done = subprocess.run(
        command(
            *("consume", "--topic", topic, "--zookeeper", zookeeper, "--from-beginning"),
            *("--max-messages", str(count), "--output", "json"),
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=_TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    found: Sequence[dict[str, object]] = [json.loads(line) for line in done.stdout.splitlines()]
    return sorted((one["partition"], one["offset"], one["value"]) for one in found)  # type: ignore[misc]


def _below(path: str, beginning: str) -> list[str]:
    system, base = file_system(path)
    found = system.get_file_info(fs.FileSelector(base, recursive=True, allow_not_found=True))
    scheme = "s3://" if path.startswith("s3://") else ""
    wanted = str(Path(base) / beginning)
    return [
        f"{scheme}{item.path}" for item in found if item.is_file and _is_below(item.path, wanted)
    ]


def _is_below(path: str, beginning: str) -> bool:
    return path.startswith(beginning.rstrip("/")) and path.endswith((".parquet", ".json"))


def _rows_of(file: str) -> list[Row]:
    options = None
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
