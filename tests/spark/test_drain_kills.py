"""A drain that is killed at random points lands every message exactly once.

CI kills twice; ``make drain-kills KILLS=10`` more often, and sometimes a task's process. FORMATS
and DECODE choose what is landed: ``FORMATS=iceberg DECODE=1 make drain-kills``; with ENGINE=both
each start uses the other engine, and with PLACES=bucket it lands in ``s3a://``.
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
from tests.support.drain_kills import (
    LOCAL,
    SPARK,
    KilledDrain,
    command,
    end_in_order,
    reported,
)
from tests.support.hadoop_aws import s3a_words
from tests.support.independent_rows import consumed_rows, landed_rows
from tests.support.s3_server import catalog_of, landing_path
from tests.support.traffic import Acknowledged, Traffic, partitions_of
from tests.support.zk_tree import ZkTree
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

KILLS = int(os.environ.get("KILLS", "2"))
DECODE = bool(os.environ.get("DECODE"))
FORMATS = [
    kind for kind in os.environ.get("FORMATS", "parquet").split(",") if not DECODE or kind != "json"
]
"""Without JSON for DECODE, which has no decoded columns."""
PLACES = os.environ.get("PLACES", "folder").split(",")
IS_BY_BOTH = os.environ.get("ENGINE") == "both"
BAD = b"bad"
_SECONDS = 400 * (KILLS + 1)
"""Many times longer than on an idle machine."""

pytestmark = [pytest.mark.spark, pytest.mark.sandbox, pytest.mark.timeout(_SECONDS)]


@pytest.fixture(params=PLACES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Give a target for the drain: a local folder, or a bucket."""
    with landing_path(request.param, tmp_path, "s3a") as path:
        yield path


def _value(tp: TopicPartition, number: int) -> bytes:
    """Return the value of a message; a third of them can't be decoded."""
    del tp
    return b"%d" % number if number % 3 else BAD


def _decode(topic: str, folder: Path) -> tuple[str, ...]:
    schemas = folder / "schemas"
    schemas.mkdir()
    (schemas / f"{topic}-value.json").write_text(json.dumps({"type": "integer"}))
    return ("--decode", "json", "--schemas", str(schemas), "--bare-values")


def _is_committed(tree: ZkTree, group: str, acknowledged: Acknowledged) -> bool:
    committed = tree.offsets(group)
    return all(committed.get(tp, 0) > max(messages) for tp, messages in acknowledged.items())


@pytest.mark.parametrize("file_format", FORMATS)
def test_kills_at_random_points_lose_and_repeat_nothing(
    cluster: Sandbox, file_format: str, path: str, tmp_path: Path
) -> None:
    """Messages are written all the time; driver, JVM and workers are killed; all offsets land once.

    The last run is asked to stop once everything has landed, and exits cleanly.
    """
    topic, group = fresh_name("killed"), fresh_name("killed")
    spark = (*SPARK, *(s3a_words() if path.startswith("s3a://") else ()))
    cluster.create_topic(topic, partitions=3)
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    where = ("--zookeeper", cluster.zookeeper_connect)
    what: tuple[str, ...] = (*where, "--topics", topic, "--to", path, "--group", group)
    what = (*what, "--format", file_format, *(_decode(topic, tmp_path) if DECODE else ()))
    catalog = catalog_of(path, tmp_path) if file_format == "iceberg" else {}
    named = [part for item in catalog.items() for part in ("--catalog-property", "=".join(item))]
    what = (*what, *named)
    small = ("--max-offsets-per-batch", "300", "--interval-ms", "100")
    killed = KilledDrain(
        path=path,
        arguments=(*what, *small),
        seed=seed,
        logs=tmp_path,
        engines=(LOCAL, spark) if IS_BY_BOTH else (spark,),
    )
    value = _value if DECODE else None
    with Traffic(cluster, partitions_of(topic, 3), pause_ms=20, value=value) as traffic:
        killed.kill(KILLS)
        acknowledged = traffic.stop()
    sys.stdout.write(f"seed {seed}\n{reported(killed.kills)}\n")
    end_in_order(what, spark, lambda: _is_committed(ZkTree(cluster), group, acknowledged))
    # The local engine verifies, so Spark need not start.
    verified = subprocess.run(
        command("drain", "verify", path, *where, *named, "--json", *LOCAL),
        capture_output=True,
        text=True,
        check=False,
        timeout=_SECONDS,
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr
    report = json.loads(verified.stdout)
    assert report["verdict"] == "proven"
    if DECODE:
        values = [value for messages in acknowledged.values() for value in messages.values()]
        assert report["dead_lettered"] >= values.count(BAD) > 0
    landed = {
        TopicPartition(partition["topic"], partition["partition"]): partition
        for partition in report["partitions"]
    }
    for tp, messages in acknowledged.items():
        assert landed[tp]["from"] == 0
        assert landed[tp]["until"] > max(messages)
        assert landed[tp]["rows"] == landed[tp]["until"]
        assert landed[tp]["cluster"]["compared"] == [0, landed[tp]["until"]]
    found = landed_rows(path, file_format, catalog)
    assert found == consumed_rows(cluster.bootstrap_servers, topic)
    assert len(found) == sum(partition["rows"] for partition in landed.values())
    if KILLS > 1 and not IS_BY_BOTH:
        assert {kill.victim for kill in killed.kills} >= {"driver", "jvm"}
