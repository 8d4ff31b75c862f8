"""Streams, commits and shutdown in an event loop, on a real cluster: the loop is never blocked."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.clusters import fresh_name
from tests.support.members import Member, settings_for
from tests.support.recording_listener import RecordingListener
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import (
    ConsumerTimeout,
    KafkaStream,
    OffsetCommitFailed,
    ZookeeperConsumerConnector,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

Stream = KafkaStream[bytes, bytes]
BY_HAND = {"auto_commit_enable": False}
TEN = [b"value"] * 10
LIMIT_S = 20


class LoopTicks:
    """Counts how often a loop runs its callback; create it inside of the loop."""

    def __init__(self) -> None:
        self.count = 0
        self._loop = asyncio.get_running_loop()
        self._next = self._loop.call_soon(self._tick)

    def stop(self) -> None:
        """Stop counting."""
        self._next.cancel()

    def _tick(self) -> None:
        self.count += 1
        self._next = self._loop.call_later(0.005, self._tick)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine in a loop of its own, with a time limit."""
    asyncio.run(asyncio.wait_for(work, LIMIT_S))


async def until(condition: asyncio.Event) -> None:
    """Wait for an event that another task sets."""
    await asyncio.wait_for(condition.wait(), LIMIT_S)


def test_two_streams_are_read_by_two_tasks_of_one_loop(cluster: Sandbox) -> None:
    """Each task gets its partition's records in order, new ones too; a shutdown ends both."""
    topic, group = fresh_name("tasks"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in partitions:
        write(cluster, tp, TEN)
    got: dict[int, list[int]] = {0: [], 1: []}

    async def read(stream: Stream, first: asyncio.Event, second: asyncio.Event) -> None:
        async for message in stream:
            got[message.partition].append(message.offset)
            if message.offset == 9:
                first.set()
            if message.offset == 10:
                second.set()

    async def work() -> None:
        loop = asyncio.get_running_loop()
        connector = ZookeeperConsumerConnector(settings_for(cluster, group))
        streams = connector.create_message_streams({topic: 2})[topic]
        events = [(asyncio.Event(), asyncio.Event()) for _ in streams]
        tasks = [
            asyncio.create_task(read(stream, *its))
            for stream, its in zip(streams, events, strict=True)
        ]
        for first, _ in events:
            await until(first)
        for tp in partitions:
            await loop.run_in_executor(None, write, cluster, tp, [b"later"])
        for _, second in events:
            await until(second)
        await connector.shutdown_async()
        await asyncio.gather(*tasks)

    run(work())
    assert got == {0: list(range(11)), 1: list(range(11))}
    assert ZkTree(cluster).offsets(group) == dict.fromkeys(partitions, 11)


def test_commits_are_awaited_and_cover_what_was_delivered(cluster: Sandbox) -> None:
    """They cover everything delivered, or given offsets; a refused one raises in the task."""
    topic, group = fresh_name("committed"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    seen: list[int | None] = []

    async def work() -> None:
        connector = ZookeeperConsumerConnector(settings_for(cluster, group, **BY_HAND))
        [stream] = connector.create_message_streams({topic: 1})[topic]
        for _ in range(4):
            await anext(stream)
        assert await connector.commit_offsets_async() == 1
        seen.append(tree.offset(group, tp))
        assert await connector.commit_offsets_async() == 0
        assert await connector.commit_offsets_async({tp: OffsetAndMetadata(2)}) == 1
        seen.append(tree.offset(group, tp))
        with pytest.raises(OffsetCommitFailed, match="none-0"):
            await connector.commit_offsets_async({TopicPartition("none", 0): OffsetAndMetadata(2)})
        assert (await anext(stream)).offset == 4
        await connector.shutdown_async()

    run(work())
    assert seen == [4, 2]
    assert tree.offset(group, tp) == 2


def test_the_loop_runs_while_a_listener_delays_commit_and_shutdown(cluster: Sandbox) -> None:
    """The listener returns only after a hundred ticks of the loop that waits for it."""
    topic, group = fresh_name("slow"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    ticks_seen: list[LoopTicks] = []
    shares: list[object] = []

    def dawdle(share: object) -> None:
        enough = ticks_seen[0].count + 100
        wait_until(lambda: ticks_seen[0].count >= enough, timeout_s=10, what="a hundred ticks")
        shares.append(share)

    async def work() -> None:
        loop = asyncio.get_running_loop()
        connector = ZookeeperConsumerConnector(settings_for(cluster, group, consumer_id="b"))
        connector.set_consumer_rebalance_listener(RecordingListener(dawdle))
        connector.create_message_streams({topic: 1})
        ticks_seen.append(LoopTicks())
        joining = loop.run_in_executor(
            None, lambda: Member(cluster, group, {topic: 1}, consumer_id="a")
        )
        other = await joining
        await connector.commit_offsets_async()
        await connector.shutdown_async()
        ticks_seen[0].stop()
        await loop.run_in_executor(None, other.close)

    run(work())
    assert shares == [{topic: frozenset({0})}, {topic: frozenset({1})}]


def test_a_task_that_waits_for_a_message_does_not_block_the_loop(cluster: Sandbox) -> None:
    """Its timeout does not either; after a cancel no message is lost."""
    topic, group = fresh_name("idle"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    got: list[int] = []
    counts: list[int] = []

    async def work() -> None:
        loop = asyncio.get_running_loop()
        config = settings_for(cluster, group, consumer_timeout_ms=400)
        connector = ZookeeperConsumerConnector(config)
        [stream] = connector.create_message_streams({topic: 1})[topic]
        ticks = LoopTicks()
        with pytest.raises(ConsumerTimeout):
            await anext(stream)
        counts.append(ticks.count)
        for _ in range(3):
            waiting = asyncio.create_task(_next_offset(stream))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        ticks.stop()
        await loop.run_in_executor(None, write, cluster, tp, TEN)
        while len(got) < 10:
            try:
                got.append(await _next_offset(stream))
            except ConsumerTimeout:
                continue
        await connector.shutdown_async()

    run(work())
    assert counts[0] >= 20
    assert got == list(range(10))


async def _next_offset(stream: Stream) -> int:
    return (await anext(stream)).offset


def test_at_most_once_reads_in_a_loop(cluster: Sandbox) -> None:
    """The commit before each chunk is awaited: every message comes once, in order."""
    topic, group = fresh_name("ahead"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    for _ in range(30):
        write(cluster, tp, TEN)
    tree = ZkTree(cluster)
    got: list[int] = []

    async def work() -> None:
        config = settings_for(
            cluster, group, delivery="at_most_once", fetch_message_max_bytes=1_000
        )
        connector = ZookeeperConsumerConnector(config)
        [stream] = connector.create_message_streams({topic: 1})[topic]
        async for message in stream:
            got.append(message.offset)
            if message.offset == 299:
                break
        await connector.shutdown_async()

    run(work())
    assert got == list(range(300))
    assert tree.offset(group, tp) == 300
