"""A local drain is killed at random points under load, and lands exactly the log.

CI kills one to Parquet files twice; ``make drain-kills ENGINE=local KILLS=20`` each format, in
folders and in a bucket.
"""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from tests.support.drain_kills import LOCAL, KilledDrain, command, reported
from tests.support.independent_rows import consumed_rows, landed_rows
from tests.support.s3_server import catalog_of, landing_path
from tests.support.traffic import Traffic, partitions_of
from zkconsumer.sandbox import Sandbox

KILLS = int(os.environ.get("KILLS", "2"))
FORMATS = os.environ.get("FORMATS", "parquet").split(",")
PLACES = os.environ.get("PLACES", "folder").split(",")
_SECONDS = 300 + 60 * KILLS

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(_SECONDS)]


@pytest.fixture(params=PLACES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give a target for the drain: a local folder, or a bucket."""
    with landing_path(request.param, tmp_path) as path:
        yield path


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command."""
    return subprocess.run(
        command(*arguments), capture_output=True, text=True, check=False, timeout=_SECONDS
    )


@pytest.mark.parametrize("file_format", FORMATS)
def test_kills_at_random_points_lose_and_repeat_nothing(
    cluster: Sandbox, file_format: str, path: str, tmp_path: Path
) -> None:
    """Messages are written all the time; in the end Polars reads each one once."""
    topic, group = fresh_name("killed"), fresh_name("killed")
    cluster.create_topic(topic, partitions=3)
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    catalog = catalog_of(path, tmp_path) if file_format == "iceberg" else {}
    named = [part for item in catalog.items() for part in ("--catalog-property", "=".join(item))]
    where = ("--zookeeper", cluster.zookeeper_connect)
    what = (*where, "--topics", topic, "--to", path, "--group", group, "--format", file_format)
    small = ("--max-offsets-per-batch", "300", "--interval-ms", "100")
    killed = KilledDrain(
        path=path,
        arguments=(*what, *named, *small),
        seed=seed,
        logs=tmp_path,
        engines=(LOCAL,),
        kinds=("driver",),
    )
    with Traffic(cluster, partitions_of(topic, 3)) as traffic:
        killed.kill(KILLS)
        acknowledged = traffic.stop()
    sys.stdout.write(f"seed {seed}\n{reported(killed.kills)}\n")
    finished = run("drain", *what, *named, "--once", *LOCAL)
    assert finished.returncode == 0, finished.stderr
    verified = run("drain", "verify", path, *where, *named, "--json")
    assert verified.returncode == 0, verified.stdout + verified.stderr
    landed = {
        partition["partition"]: partition for partition in json.loads(verified.stdout)["partitions"]
    }
    for tp, messages in acknowledged.items():
        assert landed[tp.partition]["rows"] == landed[tp.partition]["until"] > max(messages)
    found = landed_rows(path, file_format, catalog)
    assert found == consumed_rows(cluster.bootstrap_servers, topic)
    assert len(found) == sum(partition["rows"] for partition in landed.values())
