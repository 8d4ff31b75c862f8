"""A local drain that is killed at every step still lands every message exactly once.

CI kills it at every 16th step for Parquet and at every 32nd for Iceberg, starting at another step
each time; ``make drain-kills ENGINE=local`` kills at each step for all formats, then at random
points.
"""

import base64
import os
import random
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from pyiceberg.catalog import load_catalog

from tests.support.clusters import fresh_name
from tests.support.independent_rows import (
    delta_files,
    files_below,
    iceberg_files,
    place_of,
    pointed_to,
)
from tests.support.killed_drains import killed_drains
from tests.support.s3_server import BUCKET, catalog_of, s3_server
from tests.support.traffic import write
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

FORMATS = os.environ.get("FORMATS", "parquet,iceberg").split(",")
IN_BUCKETS = os.environ.get("FORMATS", "parquet").split(",")
EVERY = {"iceberg": 32}
"""Steps from one kill to the next, by format; 16 unless given. Iceberg takes the longest."""
_GIVEN = int(os.environ.get("EVERY", "0"))
_SECONDS = 1_500 if _GIVEN == 1 else 300

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(_SECONDS + 100)]

_Messages = set[tuple[int, int, bytes]]


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> tuple[str, _Messages]:
    """Create two partitions; return the topic, and partition, offset and value of its messages."""
    name = fresh_name("steps")
    cluster.create_topic(name, partitions=2)
    written: _Messages = set()
    for number, codec in ((0, Codec.NONE), (1, Codec.GZIP), (0, Codec.SNAPPY)):
        values = [b"%d-%s-%d" % (number, codec.name.encode(), at) for at in range(9)]
        first = write(cluster, TopicPartition(name, number), values, codec=codec)
        written |= {(number, first + at, value) for at, value in enumerate(values)}
    return name, written


def landed(
    path: str, file_format: str, catalog: dict[str, str], table: str = "kafka.messages"
) -> list[tuple[int, int, bytes]]:
    """Return what a reader that knows nothing of drains finds there."""
    if file_format == "iceberg":
        files = iceberg_files(_metadata_of(path, catalog, table))
    elif file_format == "delta":
        files = delta_files(path)
    else:
        files = files_below(path, "topic=")
    kind = "json" if file_format == "json" else "parquet"
    rows = [
        row
        for system, below in map(place_of, files)
        for row in ds.dataset(below, format=kind, filesystem=system).to_table().to_pylist()
    ]
    return [(row["partition"], row["offset"], _bytes(row["value"])) for row in rows]


def _metadata_of(path: str, catalog: dict[str, str], table: str) -> str:
    """Return the location of a table's metadata; only a Hive catalog is asked over the network."""
    if catalog.get("type") == "hive":
        return load_catalog("default", **catalog).load_table(table).metadata_location
    return pointed_to(path, catalog, table)


def _bytes(value: str | bytes) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else value


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_kill_at_any_step_loses_and_repeats_nothing(
    cluster: Sandbox, topic: tuple[str, _Messages], file_format: str, tmp_path: Path
) -> None:
    """Killed before and after each step, the same command finishes it, and both proofs agree."""
    check_every_kill_is_survived(cluster, topic, file_format, (str(tmp_path), tmp_path))


@pytest.mark.parametrize("file_format", IN_BUCKETS)
def test_a_kill_at_any_step_loses_and_repeats_nothing_in_a_bucket(
    cluster: Sandbox, topic: tuple[str, _Messages], file_format: str, tmp_path: Path
) -> None:
    """In a bucket a rename is a copy, and an object appears only when complete."""
    with s3_server():
        check_every_kill_is_survived(
            cluster, topic, file_format, (f"s3://{BUCKET}/{file_format}", tmp_path)
        )


def check_every_kill_is_survived(
    cluster: Sandbox, topic: tuple[str, _Messages], file_format: str, places: tuple[str, Path]
) -> None:
    """Kill drains to folders of the first place, keep notes in the second, and check the rows."""
    name, written = topic
    path, folder = places
    every = _GIVEN or EVERY.get(file_format, 16)
    first = random.randint(1, every)
    settings = {
        "path": path,
        "zookeeper": cluster.zookeeper_connect,
        "topics": [name],
        "group": fresh_name("steps"),
        "format": file_format,
        "max_offsets_per_batch": 20,
        "target_options": catalog_of(path, folder) if file_format == "iceberg" else {},
    }
    runs = killed_drains(folder, settings, first=first, every=every, timeout_s=_SECONDS)
    assert len(runs) > 1, runs
    if every == 1:
        check_each_step_was_killed(runs)
    for number, run in zip(range(first, 1_000, every), runs, strict=False):
        options = catalog_of(path, folder) if file_format == "iceberg" else {}
        mine = {name: value.replace("NUMBER", str(number)) for name, value in options.items()}
        found = landed(run["path"], file_format, mine)
        assert sorted(found) == sorted(written), run


def check_each_step_was_killed(runs: list[dict[str, str]]) -> None:
    """Check that each kind of step was killed before and after it."""
    steps = {" ".join(run["step"].split("/")[0].split()[:2]) for run in runs}
    assert steps >= {
        f"{when} {step}"
        for when in ("before", "behind")
        for step in ("create", "output", "move", "delete", "commit")
    }
