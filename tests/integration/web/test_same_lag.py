"""The lag in time is the same on the command line, the page, in JSON and for Prometheus."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.served_page import served
from tests.support.set_producer import Producer
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record, TimestampType

pytestmark = pytest.mark.sandbox

AGE_S = 111.0
SLACK_S = 60.0
"""How much later than the first the last of them may be read."""


def value_of(metric: str, group: str, exposed: str) -> float:
    """Return the only sample of a group."""
    (found,) = re.findall(rf'^{metric}{{[^}}]*group="{group}"[^}}]*}} (\S+)', exposed, re.MULTILINE)
    return float(found)


def test_the_lag_in_time_is_the_same_everywhere(
    broker_of: BrokerOf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is from the next record's timestamp, and not from the growth of the log."""
    cluster = broker_of("3.9.1")
    topic, group = fresh_name("same"), fresh_name("same")
    cluster.create_topic(topic, partitions=1)
    (tp,) = partitions_of(topic, 1)
    now_ms = SystemClock().wall_ms()
    kind = TimestampType.CREATE_TIME
    with closing(Producer(cluster.brokers)) as producer:
        ages_ms = [900_000, *[int(1000 * AGE_S)] * 5]
        producer.send(tp, [Record(0, None, b"v", now_ms - age_ms, kind) for age_ms in ages_ms])
    ZkTree(cluster).put(offset_path(group, tp), b"1")
    with served(cluster.zookeeper_connect, tmp_path / "log", "--interval-ms", "500") as page:

        def in_api() -> float | None:
            groups = page.get("/api/groups").json["groups"]
            found = [item for item in groups if item["group_id"] == group]
            return found[0]["lag_ms"] if found and not found[0]["lag_ms_estimated"] else None

        wait_until(in_api, what="the page to read the record's timestamp")
        # The log grows, which must not replace the exact lag by an estimate.
        write(cluster, tp, [b"v"] * 50)
        metrics = page.get("/metrics").text
        exported = value_of("kafka_consumergroup_group_lag_seconds", group, metrics)
        largest = value_of("kafka_consumergroup_group_max_lag_seconds", group, metrics)
        assert value_of("zkconsumer_group_estimated_lags", group, metrics) == 0
        reported = in_api()
        capsys.readouterr()
        words = ["lag", "--zookeeper", cluster.zookeeper_connect, "--group", group, "--json"]
        assert main(words) == 0
        (row,) = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
        assert reported is not None
        assert row["seconds_estimated"] is False
        for seconds in (exported, largest, reported / 1000, row["seconds"]):
            assert AGE_S <= seconds < AGE_S + SLACK_S
        shown = page.get(f"/groups/zookeeper/{group}").text
        assert re.search(r"1 min 5\d s|2 min", shown)
        assert "~1 min" not in shown


def test_an_estimate_is_marked_everywhere(broker_of: BrokerOf, tmp_path: Path) -> None:
    """Brokers of 0.8 have no timestamps."""
    cluster = broker_of("0.8.2.2")
    topic, group = fresh_name("same"), fresh_name("same")
    cluster.create_topic(topic, partitions=1)
    (tp,) = partitions_of(topic, 1)
    write(cluster, tp, [b"v"] * 50)
    ZkTree(cluster).put(offset_path(group, tp), b"10")
    with served(cluster.zookeeper_connect, tmp_path / "log", "--interval-ms", "500") as page:

        def in_api() -> dict[str, object]:
            groups = page.get("/api/groups").json["groups"]
            return next((item for item in groups if item["group_id"] == group), {})

        wait_until(lambda: in_api().get("lag") == 40, what="the page to read the group")

        def grown() -> bool:
            write(cluster, tp, [b"v"])
            return in_api()["lag_ms"] is not None

        wait_until(grown, what="the page to see the log grow")
        assert in_api()["lag_ms_estimated"] is True
        metrics = page.get("/metrics").text
        assert f'zkconsumer_group_estimated_lags{{consumergroup="{group}",kind="zookeeper"}} 1' in (
            metrics
        )
        assert re.search(r"~\d", page.get(f"/groups/zookeeper/{group}").text)
