"""The page as a process, on a real cluster whose servers stop and start."""

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import settings_for
from tests.support.served_page import ServedPage, served, until_read
from tests.support.traffic import write
from tests.support.waiting import PROMPT_MS, wait_until
from zkconsumer import ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

QUICK = ("--interval-ms", "500")
YOUNG_S = 7.0
"""Topics are read every five seconds."""


class EventStreamListener:
    """Receives events, as a browser does."""

    def __init__(self, page: ServedPage, query: str = "") -> None:
        self._connection = HTTPConnection(urlsplit(page.address).netloc, timeout=20)
        self._connection.request("GET", f"/events{query}")
        self._respond = self._connection.getresponse()
        assert self._respond.status == 200

    def line(self) -> str:
        """Return the next line; empty at the end of the stream."""
        return self._respond.readline().decode()

    def close(self) -> None:
        """Disconnect."""
        self._respond.close()
        self._connection.close()


@pytest.fixture(scope="module")
def stoppable() -> Iterator[Sandbox]:
    """Start a cluster whose servers are stopped in these tests."""
    with Sandbox(kafka="0.8.2.2", brokers=1) as sandbox:
        yield sandbox


def listed_group(page: ServedPage, group: str) -> dict[str, object]:
    """Return a group as the list shows it."""
    found = page.get("/api/groups").json["groups"]
    return next((item for item in found if item["group_id"] == group), {})


def test_a_group_is_shown_with_its_history(cluster: Sandbox, tmp_path: Path) -> None:
    """A member joins, reads, commits and leaves; a later server still has the history."""
    topic, group = fresh_name("topic"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    for number in range(2):
        write(cluster, TopicPartition(topic, number), [b"line"] * 5)
    history = tmp_path / "past.sqlite"
    arguments = (*QUICK, "--history", str(history), "--groups", f"^{group}$")
    lag = f"/api/groups/zookeeper/{group}/lag"
    with served(cluster.zookeeper_connect, tmp_path / "log", *arguments) as page:
        until_read(page)
        assert page.get("/api/groups").json["groups"] == []
        with ExitStack() as members:
            consumer = members.enter_context(
                ZookeeperConsumerConnector(settings_for(cluster, group))
            )
            stream = consumer.create_message_streams({topic: 1})[topic][0]
            for _ in range(10):
                next(stream)
            consumer.commit_offsets()
            wait_until(lambda: listed_group(page, group).get("lag") == 0, what="the commit")
            shown = listed_group(page, group)
            assert (shown["members"], shown["state"], shown["burrow"]) == (1, "stable", "OK")
        wait_until(lambda: listed_group(page, group).get("members") == 0, what="the member's end")
        wait_until(lambda: page.get(lag).json["total"][-1:] == [0], what="the recorder")
        assert page.get(f"/groups/zookeeper/{group}").status == 200
        assert page.get(f"/groups/zookeeper/{group}/znodes").status == 200
        assert f'consumergroup="{group}"' in page.get("/metrics").text
        # The group was opened on a page by now, and not only listed.
        assert page.end() == 0
    with served(cluster.zookeeper_connect, tmp_path / "log", *arguments) as page:
        until_read(page)
        past = page.get(lag).json
        assert past["total"][-1] == 0
        assert [partition["log_end"][-1] for partition in past["partitions"]] == [5, 5]
        reported = page.get(f"/api/groups/zookeeper/{group}/rebalances").json["rebalances"]
        message = [reason for item in reported for reason in item["reasons"]]
        assert any(reason.endswith("left") for reason in message)


def age_of(page: ServedPage, part: str) -> float:
    """Return the age of a part of the snapshot, in seconds."""
    name = f'zkconsumer_snapshot_age_seconds{{part="{part}"}} (.*)'
    found = re.search(name, page.get("/metrics").text)
    assert found is not None
    return float(found[1])


def test_stopped_servers_only_make_the_snapshot_old(stoppable: Sandbox, tmp_path: Path) -> None:
    """The page responds all the time; ages grow, reasons are shown, and everything recovers."""
    stoppable.create_topic("t", partitions=1)
    arguments = (*QUICK, "--timeout-ms", "1000")
    with served(stoppable.zookeeper_connect, tmp_path / "log", *arguments) as page:
        until_read(page)

        def state() -> dict[str, object]:
            found: dict[str, object] = page.get("/api/state").json
            return found

        assert state()["failures"] == []
        stoppable.stop_broker(0)
        wait_until(lambda: state()["failures"], what="the broker to be missed")
        wait_until(lambda: age_of(page, "log_ends") > 2, what="its logs to be old")
        assert age_of(page, "topics") < YOUNG_S
        assert page.get("/healthz").status == 200
        stoppable.start_broker(0)
        wait_until(lambda: not state()["failures"], what="the broker to be back")
        wait_until(lambda: age_of(page, "log_ends") < 2, what="its logs to be young")
        stoppable.stop_zookeeper()
        wait_until(lambda: page.get("/healthz").status == 503, what="ZooKeeper to be missed")
        wait_until(lambda: age_of(page, "topics") > YOUNG_S, what="topics to be old")
        first = state()
        assert first["topics"] == 1
        assert "can't be read" in str(first["reason"])
        for path in ("/", "/topics", "/topics/t", "/groups"):
            assert page.get(path, accept="text/html").status == 200
        stoppable.start_zookeeper()
        wait_until(lambda: page.get("/healthz").status == 200, what="ZooKeeper to be back")
        wait_until(lambda: not state()["failures"], what="all to be read again")
        wait_until(lambda: age_of(page, "topics") < YOUNG_S, what="topics to be young")


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_it_ends_at_once_with_open_event_streams(
    cluster: Sandbox, tmp_path: Path, number: int, status: int
) -> None:
    """The streams are closed, and nothing is logged."""
    with served(cluster.zookeeper_connect, tmp_path / "log", *QUICK) as page:
        until_read(page)
        listener = EventStreamListener(page, "?group=zookeeper/nobody")
        while not listener.line().startswith("event: state"):
            pass
        clock = SystemClock()
        began_ms = clock.now_ms()
        assert page.end(number) == status
        assert clock.now_ms() - began_ms < PROMPT_MS
        while listener.line():
            pass
        listener.close()
    assert (tmp_path / "log").read_text() == ""


def test_a_cluster_may_start_later(zookeeper: Sandbox, tmp_path: Path) -> None:
    """Until then the page shows what it waits for."""
    host = zookeeper.zookeeper_connect.partition("/")[0]
    zookeeper.pause_zookeeper()
    try:
        with served(host, tmp_path / "log", *QUICK, "--timeout-ms", "500") as page:
            wait_until(lambda: "ZooKeeper" in page.get("/healthz").text, what="the reason")
            assert page.get("/healthz").status == 503
            assert page.get("/", accept="text/html").status == 200
            zookeeper.resume_zookeeper()
            # It is read now, but a cluster without brokers is not healthy.
            reported = "No broker is registered"
            wait_until(lambda: reported in page.get("/healthz").text, what="the first reading")
            assert page.get("/healthz").status == 503
            assert page.get("/api/state").json["taken_ms"] is not None
    finally:
        zookeeper.resume_zookeeper()
