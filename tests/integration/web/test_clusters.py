"""Several real clusters on one page, from the configuration file."""

import signal
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.served_page import served
from tests.support.waiting import wait_until
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_clusters_of_the_file(cluster: Sandbox, broker_of: BrokerOf, tmp_path: Path) -> None:
    """One is read through ZooKeeper, one through brokers, two fail: none delays another."""
    new, topic = broker_of("2.8.2"), fresh_name("clusters")
    cluster.create_topic(topic, partitions=1)
    file = tmp_path / "config.toml"
    file.write_text(
        f'[clusters.old]\nzookeeper = "{cluster.zookeeper_connect}"\n'
        f'[clusters.new]\nbootstrap-server = "{new.bootstrap_servers}"\n'
        '[clusters.away]\nzookeeper = "127.0.0.1:1"\ntimeout-ms = 500\n'
        '[clusters.torn]\nzookeeper = "127.0.0.1:2"\n'
        f'command-config = "{tmp_path}/gone.properties"\n'
    )
    arguments = ("--clusters", "old,new,away,torn", "--interval-ms", "500")
    environment = {"ZKCONSUMER_CONFIG": str(file)}
    with served(None, tmp_path / "log", *arguments, **environment) as page:

        def are_read() -> bool:
            names = ("old", "new")
            return all(page.get(f"/clusters/{name}/healthz").status == 200 for name in names)

        wait_until(are_read, what="both to be read")
        assert topic in page.get("/clusters/old/topics", Accept="text/html").text
        assert topic not in page.get("/clusters/new/topics", Accept="text/html").text
        assert page.get("/clusters/new/api/state").json["zookeeper"] == "unknown"
        health = page.get("/healthz")
        assert health.status == 200
        assert page.get("/clusters/away/healthz").status == 503
        reasons = {name: reason for name, reason in health.json["reasons"].items() if reason}
        assert list(reasons) == ["away", "torn"]
        assert "gone.properties" in reasons["torn"]
        overview = page.get("/", Accept="text/html").text
        for name in ("old", "new", "away", "torn"):
            assert f'href="/clusters/{name}/"' in overview
        assert page.end(signal.SIGTERM) == 0
