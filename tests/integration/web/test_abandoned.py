"""Groups that have finished their work, on a real cluster: no permanent error, and no alert."""

import json
import re
from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import settings_for
from tests.support.served_page import served
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.cli.main import main
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

QUICK = ("--interval-ms", "500")


def finished(cluster: Sandbox) -> str:
    """Create a group that has read one record of three, and has no members."""
    topic, group = fresh_name("done"), fresh_name("done")
    cluster.create_topic(topic, partitions=1)
    (tp,) = partitions_of(topic, 1)
    write(cluster, tp, [b"v"] * 3)
    with ZookeeperConsumerConnector(settings_for(cluster, group)) as connector:
        (stream,) = connector.create_message_streams({topic: 1})[topic]
        next(stream)
        next(stream)
    return group


def test_a_finished_group_is_abandoned_after_a_while(
    cluster: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """First it is a warning, then it is hidden on page and metrics, and a note for the doctor."""
    group = finished(cluster)
    where = ("--zookeeper", cluster.zookeeper_connect, "--group", group)
    assert main(["doctor", *where, "--quick", "--json"]) == 3
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["severity"]) == ("group-stopped", "warning")
    wait = ("--abandoned-after-ms", "3000")
    with served(cluster.zookeeper_connect, tmp_path / "log", *QUICK, *wait) as page:

        def in_api() -> dict[str, object]:
            groups = page.get("/api/groups").json["groups"]
            return next((item for item in groups if item["group_id"] == group), {})

        wait_until(lambda: in_api().get("state") == "abandoned", what="the group to be abandoned")
        assert in_api()["burrow"] == "NOTFOUND"
        metrics = page.get("/metrics").text
        whose = f'consumer_group="{group}"'
        status = rf"^burrow_kafka_consumer_status{{[^}}]*{whose}[^}}]*}} 0$"
        assert re.search(status, metrics, re.MULTILINE)
        assert not re.search(rf'max_lag_seconds{{[^}}]*group="{group}"', metrics)
        assert group in page.get("/groups").text
        assert group not in page.get("/groups?abandoned=hide").text
        assert "last commit" in page.get(f"/groups/zookeeper/{group}").text
    assert main(["doctor", *where, "--abandoned-after-ms", "1", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert (found["code"], found["severity"]) == ("group-abandoned", "note")
    reported = re.search(r"zkconsumer (groups delete .*) \(zkconsumer", found["repair"])
    assert reported is not None
    assert main([*reported[1].split(), "--yes"]) == 0
    assert main(["groups", "describe", *where]) == 2


def test_one_stale_registration_is_one_incident(
    cluster: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    """A live member shares with a dead one: missing owners are consequences of one finding."""
    topic, group = fresh_name("ghost"), fresh_name("ghost")
    cluster.create_topic(topic, partitions=4)
    tree = ZkTree(cluster)
    ghost = f"/consumers/{group}/ids/{group}_gone-1400000000000-1a2b3c4d"
    data = b'{"version":1,"subscription":{"%s":1},"pattern":"static","timestamp":"1400000000000"}'
    tree.put(ghost, data % topic.encode())
    where = ("--zookeeper", cluster.zookeeper_connect, "--group", group)
    with ZookeeperConsumerConnector(settings_for(cluster, group)) as connector:
        connector.create_message_streams({topic: 1})
        assert main(["doctor", *where, "--snapshot-interval-ms", "3000", "--json"]) == 3
        (incident,) = json.loads(capsys.readouterr().out)["findings"]
        assert incident["code"] == "member-stale"
        reported = {consequence["code"] for consequence in incident["consequences"]}
        assert reported == {"owner-missing", "member-time-far-off"}
