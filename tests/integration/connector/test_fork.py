"""Forked children of a process that consumes: whatever they call raises at once."""

import asyncio
import multiprocessing
from collections.abc import Callable

import pytest

from tests.support.clusters import fresh_name
from tests.support.forks import in_forked_child
from tests.support.members import settings_for
from tests.support.recording_listener import RecordingListener
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ConsumerForked, Whitelist, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox

AT_ONCE_MS = 1_000


def violations(calls: dict[str, Callable[[], object]]) -> str:
    """Return which of these calls did not raise ``ConsumerForked`` at once; empty if all did."""
    clock = SystemClock()
    wrong: list[str] = []
    for name, call in calls.items():
        began_ms = clock.now_ms()
        try:
            wrong.append(f"{name} gave {call()!r}")
        except ConsumerForked as error:
            if "create a connector in the child" not in str(error):
                wrong.append(f"{name} said {error}")
        if clock.now_ms() - began_ms > AT_ONCE_MS:
            wrong.append(f"{name} took {clock.now_ms() - began_ms} ms")
    return "; ".join(wrong)


def test_every_call_in_a_child_raises_at_once(cluster: Sandbox) -> None:
    """So before and after streams are created, in coroutines, and on leaving ``with``."""
    topic, group = fresh_name("forked"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000)
    with ZookeeperConsumerConnector(config) as connector:

        def leave() -> None:
            with connector:
                pass

        either: dict[str, Callable[[], object]] = {
            "streams": lambda: connector.create_message_streams({topic: 1}),
            "streams by filter": lambda: connector.create_message_streams_by_filter(Whitelist("t")),
            "listener": lambda: connector.set_consumer_rebalance_listener(None),
            "commit": connector.commit_offsets,
            "commit of nothing": lambda: connector.commit_offsets({}),
            "explicit commit": lambda: connector.commit_offsets({tp: OffsetAndMetadata(1)}),
            "async commit": lambda: asyncio.run(connector.commit_offsets_async()),
            "async shutdown": lambda: asyncio.run(connector.shutdown_async()),
            "shutdown": connector.shutdown,
            "with": leave,
        }
        assert in_forked_child(lambda: violations(either)) == ""
        [stream] = connector.create_message_streams({topic: 1})[topic]
        write(cluster, tp, [b"value"] * 5)
        assert next(stream).offset == 0
        iterated: dict[str, Callable[[], object]] = {
            **either,
            "next": lambda: next(stream),
            "for": lambda: list(stream),
            "async for": lambda: asyncio.run(_first(stream)),
        }
        assert in_forked_child(lambda: violations(iterated)) == ""
        session = connector._parts.context.store.session_id
        assert [next(stream).offset for _ in range(4)] == [1, 2, 3, 4]
        assert connector.commit_offsets() == 1
        assert connector._parts.context.store.session_id == session
    assert ZkTree(cluster).offsets(group) == {tp: 5}


async def _first(stream: object) -> object:
    return await anext(stream)  # type: ignore[call-overload]


def test_the_end_of_a_child_does_not_affect_the_parent(cluster: Sandbox) -> None:
    """It ends with its finalizers, as with ``multiprocessing``; the parent keeps its session."""
    topic, group = fresh_name("ended"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000)
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        session = connector._parts.context.store.session_id
        fork = multiprocessing.get_context("fork")
        for number in range(3):
            child = fork.Process(target=_use_up, args=(connector,))
            child.start()
            child.join(20)
            assert child.exitcode == 7
            write(cluster, tp, [b"value"])
            assert next(stream).offset == number
        tree = ZkTree(cluster)
        assert tree.owners(group, topic) == {0: (f"{connector.consumer_id}-0", session)}
        assert connector._parts.context.store.session_id == session


def _use_up(connector: ZookeeperConsumerConnector) -> None:
    try:
        with connector:
            connector.commit_offsets()
    except ConsumerForked:
        raise SystemExit(7) from None


def test_calls_in_a_child_forked_by_the_listener_raise(
    cluster: Sandbox,
) -> None:
    """The listener's thread may commit directly; a child would do so on the parent's socket."""
    topic, group = fresh_name("nested"), fresh_name("group")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    message: list[str] = []

    def fork(_share: object) -> None:
        calls: dict[str, Callable[[], object]] = {
            "commit": connector.commit_offsets,
            "shutdown": connector.shutdown,
        }
        message.append(in_forked_child(lambda: violations(calls)))
        message.append(str(connector.commit_offsets()))

    config = settings_for(cluster, group, consumer_timeout_ms=10_000, auto_commit_enable=False)
    with ZookeeperConsumerConnector(config) as connector:
        connector.set_consumer_rebalance_listener(RecordingListener(fork))
        [stream] = connector.create_message_streams({topic: 1})[topic]
        write(cluster, tp, [b"value"] * 2)
        assert next(stream).offset == 0
    assert message == ["", "1"]
    assert ZkTree(cluster).offsets(group) == {tp: 1}


def test_a_child_may_have_a_connector_of_its_own(cluster: Sandbox) -> None:
    """It joins as a second member and leaves; the parent gets its partitions back."""
    topic, group = fresh_name("own"), fresh_name("group")
    cluster.create_topic(topic, partitions=2)
    config = settings_for(cluster, group, consumer_timeout_ms=10_000)
    with ZookeeperConsumerConnector(config) as connector:
        connector.create_message_streams({topic: 1})

        def child() -> str:
            with ZookeeperConsumerConnector(config) as own:
                own.create_message_streams({topic: 1})
                members = ZkTree(cluster).members(group)
                return f"{len(members)} {own.consumer_id in members}"

        assert in_forked_child(child) == "2 True"
        tree, ours = ZkTree(cluster), f"{connector.consumer_id}-0"
        wait_until(
            lambda: (
                {text for text, _ in tree.owners(group, topic).values()} == {ours}
                and len(tree.owners(group, topic)) == 2
            ),
            what="both partitions again",
        )
