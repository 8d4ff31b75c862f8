"""The page shows a real cluster whose members come and go, served by the real command."""

import signal
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browser import accessibility_violations, count_colours, window
from tests.support.clusters import fresh_name
from tests.support.members import settings_for
from tests.support.served_page import served, until_read
from tests.support.traffic import write
from zkconsumer import KafkaStream, ZookeeperConsumerConnector
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

PARTITIONS = 4
Member = tuple[ZookeeperConsumerConnector, KafkaStream[bytes, bytes]]
SHOWN_WITHIN_MS = 2_000
TRIES = 5
"""How often a member joins and leaves: one time within the bound is enough."""


def join(members: ExitStack, cluster: Sandbox, group: str, topic: str) -> Member:
    """Return a member that owns its partitions already."""
    member = members.enter_context(ZookeeperConsumerConnector(settings_for(cluster, group)))
    [stream] = member.create_message_streams({topic: 1})[topic]
    return member, stream


def shown_within(page: Page, counts: list[int]) -> float:
    """Wait until the grid shows these partition counts; return how long it took, in ms."""
    began = perf_counter()
    page.wait_for_function(
        """wanted => {
            const heads = [...document.querySelectorAll("th.member")];
            const counts = heads.map((_, at) => [...document.querySelectorAll("tr[data-owner]")]
                .filter(row => row.querySelectorAll("td.cell")[at].querySelector(".own")).length);
            return counts.join() === wanted.join();
        }""",
        arg=counts,
        polling=50,
        timeout=30_000,
    )
    return (perf_counter() - began) * 1_000


def charted(page: Page, at_least: int) -> int:
    """Wait until the chart shows so many samples; return how many it shows."""
    page.wait_for_function(
        "least => +document.querySelector('#chart').dataset.points >= least",
        arg=at_least,
        polling=50,
    )
    assert count_colours(page, "#chart canvas") > 10
    return int(page.locator("#chart").get_attribute("data-points") or 0)


def join_and_leave(page: Page, cluster: Sandbox, group: str, topic: str) -> float:
    """Let a second member join and leave while the page is open; return the longest wait, in ms."""
    with ExitStack() as second:
        join(second, cluster, group, topic)
        joined_ms = shown_within(page, [2, 2])
        expect(page.locator("#news")).to_contain_text("joined")
        expect(page.locator(".timeline li").first).to_contain_text("joined")
    left_ms = shown_within(page, [PARTITIONS])
    expect(page.locator(".timeline li").first).to_contain_text("left")
    return max(joined_ms, left_ms)


def test_a_rebalance_is_shown_and_the_history_survives_a_restart(
    browser: Browser, cluster: Sandbox, tmp_path: Path
) -> None:
    """The grid shows a new member within two seconds; the chart continues after a restart."""
    topic, group = fresh_name("topic"), fresh_name("group")
    cluster.create_topic(topic, partitions=PARTITIONS)
    path = f"/groups/zookeeper/{group}"
    serve = partial(
        served,
        cluster.zookeeper_connect,
        tmp_path / "log",
        *("--history", str(tmp_path / "past.sqlite"), "--interval-ms", "1000"),
    )
    with ExitStack() as members:
        member, stream = join(members, cluster, group, topic)
        for partition in range(PARTITIONS):
            write(cluster, TopicPartition(topic, partition), [b"read"])
            next(stream)
        member.commit_offsets()
        with serve() as server, window(browser, server.address) as opened:
            until_read(server)
            page = opened.open(path)
            shown_within(page, [PARTITIONS])
            waits_ms = (join_and_leave(page, cluster, group, topic) for _try in range(TRIES))
            assert any(wait_ms < SHOWN_WITHIN_MS for wait_ms in waits_ms)
            for partition in range(PARTITIONS):
                write(cluster, TopicPartition(topic, partition), [b"unread"] * (5 + partition))
            expect(page.locator(".tile", has_text="records to read")).to_contain_text("26")
            sample_count = charted(page, 2)
            assert accessibility_violations(page) == []
            assert opened.assert_clean()
            assert server.end(signal.SIGTERM) == 0
            expect(page.locator("#link")).to_have_text("Connection lost, trying again")
            expect(page.locator("table.grid")).to_be_visible()
        with serve() as server, window(browser, server.address) as opened:
            until_read(server)
            page = opened.open(path)
            charted(page, sample_count)
            expect(page.locator(".timeline")).to_contain_text("left")
            open_other_pages(page, topic)
            assert opened.assert_clean()


def open_other_pages(page: Page, topic: str) -> None:
    """Open the group's nodes and the other pages."""
    page.get_by_role("link", name="Nodes in ZooKeeper").click()
    page.get_by_role("link", name="ids", exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody .data")).to_contain_text('"subscription"')
    for name in ("Cluster", "Topics"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.get_by_label("Find").fill(topic)
    page.get_by_role("link", name=topic, exact=True).click()
    expect(page.locator("tbody tr")).to_have_count(PARTITIONS)
