"""A local drain is killed at every step, and lands every message exactly once all the same.

CI does so for Parquet; ``make drain-kills ENGINE=local`` for all formats, then at random points.
"""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset as ds
import pytest

from tests.support.clusters import fresh_name
from tests.support.traffic import write
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]

_SECONDS = 300
FORMATS = os.environ.get("FORMATS", "parquet").split(",")
_Messages = set[tuple[int, int, bytes]]


@pytest.fixture(scope="module")
def topic(cluster: Sandbox) -> tuple[str, _Messages]:
    """Two partitions, and what lies in them: number, offset and value."""
    name = fresh_name("steps")
    cluster.create_topic(name, partitions=2)
    written: _Messages = set()
    for number, codec in ((0, Codec.NONE), (1, Codec.GZIP), (0, Codec.SNAPPY)):
        values = [b"%d-%s-%d" % (number, codec.name.encode(), at) for at in range(9)]
        first = write(cluster, TopicPartition(name, number), values, codec=codec)
        written |= {(number, first + at, value) for at, value in enumerate(values)}
    return name, written


def landed(path: str, file_format: str) -> list[tuple[int, int, bytes]]:
    """What a reader that knows nothing of drains finds there."""
    if file_format == "json":
        files = Path(path).glob("topic=*/*/*")
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    else:
        rows = ds.dataset(path, format="parquet", partitioning="hive").to_table().to_pylist()
    found = ((row["partition"], row["offset"], row["value"]) for row in rows)
    return [(number, at, _bytes(value)) for number, at, value in found]


def _bytes(value: str | bytes) -> bytes:
    return base64.b64decode(value) if isinstance(value, str) else value


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_kill_at_any_step_loses_and_doubles_nothing(
    cluster: Sandbox, topic: tuple[str, _Messages], file_format: str, tmp_path: Path
) -> None:
    """Before and behind each step; the same command finishes it, and both proofs agree."""
    name, written = topic
    settings = {
        "path": str(tmp_path),
        "zookeeper": cluster.zookeeper_connect,
        "topics": [name],
        "group": fresh_name("steps"),
        "format": file_format,
        "max_offsets_per_batch": 20,
    }
    program = [sys.executable, "-m", "tests.support.killed_drain", str(tmp_path)]
    done = subprocess.run(
        [*program, json.dumps(settings)],
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    told = "\n".join(map(str, runs)) + done.stderr
    assert runs[-1]["step"] == "the end", told
    assert {(run["again"], run["verdict"]) for run in runs} == {(0, 0)}, told
    steps = {" ".join(run["step"].split("/")[0].split()[:2]) for run in runs}
    assert steps >= {
        f"{when} {step}"
        for when in ("before", "behind")
        for step in ("create", "output", "keep", "move", "delete", "commit")
    }
    for run in runs:
        found = landed(run["path"], file_format)
        assert sorted(found) == sorted(written), run
