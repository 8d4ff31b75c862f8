"""Every way to shut down: within a time limit, completely, and with nothing left behind."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support import warm
from tests.support.clusters import fresh_name, frozen
from tests.support.members import Member, settings_for
from tests.support.traffic import partitions_of, write
from tests.support.waiting import PROMPT_MS, wait_until
from tests.support.zk_tree import ZkTree
from zkconsumer import ConsumerClosed, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.scope import ThreadScope

pytestmark = pytest.mark.sandbox

CLOCK = SystemClock()
VALUES = [b"value %d" % number for number in range(10)]
ROOT = Path(__file__).parents[3]


def elapsed_ms(since_ms: int) -> int:
    """Return the time since then."""
    return CLOCK.now_ms() - since_ms


def thread_numbers() -> set[int | None]:
    """Return the ids of the running threads."""
    return {thread.ident for thread in threading.enumerate()}


def left_behind(before: set[int | None]) -> list[str]:
    """Return the names of the threads that did not run before."""
    return [thread.name for thread in threading.enumerate() if thread.ident not in before]


def descriptors() -> set[str]:
    """Return what this process has open: sockets, pipes, files."""
    held = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            held.add(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:  # the descriptor of this listing itself
            continue
    return held


def filled_topic(cluster: Sandbox, partitions: int = 1) -> str:
    """Create a topic with ten messages in each partition."""
    topic = fresh_name("filled")
    cluster.create_topic(topic, partitions=partitions)
    for tp in partitions_of(topic, partitions):
        write(cluster, tp, VALUES)
    return topic


@contextmanager
def idle_streams(
    cluster: Sandbox, group: str, topic: str, count: int = 1
) -> Iterator[ZookeeperConsumerConnector]:
    """Open a connector that owns its partitions, and whose streams nobody reads."""
    with ZookeeperConsumerConnector(settings_for(cluster, group)) as connector:
        connector.create_message_streams({topic: count})
        yield connector


def test_nothing_is_left_behind(cluster: Sandbox) -> None:
    """Three members leave no thread, descriptor or node; their offsets are kept."""
    topic, group = filled_topic(cluster, 3), fresh_name("group")
    tree = ZkTree(cluster)
    threads, before = thread_numbers(), descriptors()
    for _ in range(3):
        with Member(cluster, group, {topic: 2}, num_consumer_fetchers=2) as member:
            wait_until(
                lambda m=member: all(c.consumed_offset == 10 for c in m.claims().values()),  # type: ignore[misc]
                what="everything read",
            )
        assert left_behind(threads) == []
        assert descriptors() - before == set()
        assert tree.members(group) == []
        assert tree.owners(group, topic) == {}
    assert tree.offsets(group) == dict.fromkeys(partitions_of(topic, 3), 10)


def test_a_connector_that_never_joined_leaves_nothing_either(cluster: Sandbox) -> None:
    """It is created and shut down, and no node is written."""
    group = fresh_name("group")
    threads, before = thread_numbers(), descriptors()
    ZookeeperConsumerConnector(settings_for(cluster, group)).shutdown()
    assert left_behind(threads) == []
    assert descriptors() - before == set()
    assert ZkTree(cluster).get(f"/consumers/{group}") is None


def test_shutdown_may_be_called_again(cluster: Sandbox) -> None:
    """The second call does nothing; every other call raises that it is closed."""
    topic = filled_topic(cluster)
    with idle_streams(cluster, fresh_name("group"), topic) as connector:
        connector.shutdown()
        started_ms = CLOCK.now_ms()
        connector.shutdown()
        assert elapsed_ms(started_ms) < PROMPT_MS
        with pytest.raises(ConsumerClosed, match="shut down"):
            connector.commit_offsets()
        with pytest.raises(ConsumerClosed, match="shut down"):
            connector.create_message_streams({topic: 1})


def test_shutdown_from_many_threads_at_once(cluster: Sandbox) -> None:
    """All calls return promptly after the shutdown is complete; a blocked stream ends."""
    topic, group = filled_topic(cluster), fresh_name("group")
    member = Member(cluster, group, {topic: 1})
    wait_until(lambda: len(member.deliveries) == 10, what="everything")
    tree, scope = ZkTree(cluster), ThreadScope("callers")
    seen: list[list[str]] = []

    def call() -> None:
        member.connector.shutdown()
        seen.append(tree.members(group))

    for number in range(5):
        scope.spawn(str(number), call, stop=lambda: None)
    assert scope.close(5000) == []
    assert scope.first_error() is None
    assert seen == [[]] * 5
    member.close()
    assert tree.offset(group, TopicPartition(topic, 0)) == 10


def test_shutdown_in_the_thread_that_iterates(cluster: Sandbox) -> None:
    """The loop ends, and the message that is being processed is not committed."""
    topic, group = filled_topic(cluster), fresh_name("group")
    config = settings_for(cluster, group, consumer_timeout_ms=10_000)
    connector = ZookeeperConsumerConnector(config)
    [stream] = connector.create_message_streams({topic: 1})[topic]
    got = []
    for message in stream:
        got.append(message.offset)
        if message.offset == 4:
            connector.shutdown()
    assert got == [0, 1, 2, 3, 4]
    assert ZkTree(cluster).offset(group, TopicPartition(topic, 0)) == 4


def test_shutdown_while_the_broker_hangs(cluster: Sandbox) -> None:
    """It does not wait for responses: offsets are committed and partitions released at once."""
    topic, group = filled_topic(cluster), fresh_name("group")
    threads = thread_numbers()
    with Member(cluster, group, {topic: 1}) as member:
        wait_until(lambda: len(member.deliveries) == 10, what="everything")
        with frozen(cluster, 0):
            started_ms = CLOCK.now_ms()
            member.connector.shutdown()
            assert elapsed_ms(started_ms) < PROMPT_MS
    assert left_behind(threads) == []
    assert ZkTree(cluster).offset(group, TopicPartition(topic, 0)) == 10


def test_shutdown_while_it_looks_for_a_leader_at_a_hanging_broker(cluster: Sandbox) -> None:
    """The metadata request in flight is not waited for, either."""
    topic, group = filled_topic(cluster), fresh_name("group")
    threads = thread_numbers()
    with frozen(cluster, 0), Member(cluster, group, {topic: 1}) as member:
        assert len(member.claims()) == 1
        started_ms = CLOCK.now_ms()
        member.connector.shutdown()
        assert elapsed_ms(started_ms) < PROMPT_MS
    wait_until(lambda: left_behind(threads) == [], what="the end of all threads")


def test_shutdown_while_it_connects_to_a_machine_that_is_gone(cluster: Sandbox) -> None:
    """Nothing answers the connection request, as when a machine loses power."""
    topic, group = fresh_name("gone"), fresh_name("group")
    cluster.create_topic(topic)
    copied, real = ZkTree(cluster, f"/{fresh_name('copied')}"), ZkTree(cluster)
    node = real.get(f"/brokers/topics/{topic}")
    assert node is not None
    copied.put(f"/brokers/topics/{topic}", node.data)
    threads = thread_numbers()
    with ExitStack() as sockets:
        server = sockets.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        host, port = server.getsockname()
        for _ in range(3):  # its queue is full now, and the system drops what comes
            client = sockets.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((host, port))
        copied.put("/brokers/ids/0", json.dumps({"host": host, "port": port}).encode())
        with Member(copied.connect, group, {topic: 1}) as member:
            assert len(member.claims()) == 1
            started_ms = CLOCK.now_ms()
            member.connector.shutdown()
            assert elapsed_ms(started_ms) < PROMPT_MS
    assert left_behind(threads) == []


def test_shutdown_while_joining(cluster: Sandbox) -> None:
    """The call that creates streams promptly raises that the connector was closed."""
    topic, group = filled_topic(cluster), fresh_name("group")
    settings = {"consumer_id": "same", "rebalance_backoff_ms": 20_000}
    errors: list[ConsumerClosed] = []
    with Member(cluster, group, {topic: 1}, consumer_id="same"):
        waiting = ZookeeperConsumerConnector(settings_for(cluster, group, **settings))
        scope = ThreadScope("joining")

        def join() -> None:
            with pytest.raises(ConsumerClosed) as caught:
                waiting.create_message_streams({topic: 1})
            errors.append(caught.value)

        scope.spawn("join", join, stop=waiting.shutdown)
        core = waiting._parts.member.control._core
        wait_until(lambda: core.state.name == "BACKING_OFF", what="its first refusal")
        started_ms = CLOCK.now_ms()
        assert scope.close(PROMPT_MS) == []
        assert elapsed_ms(started_ms) < PROMPT_MS
    assert len(errors) == 1


@pytest.mark.parametrize(
    "signals",
    [[signal.SIGTERM], [signal.SIGINT], [signal.SIGTERM, signal.SIGINT] * 10],
    ids=["term", "int", "impatient"],
)
def test_shutdown_in_a_signal_handler(cluster: Sandbox, signals: list[signal.Signals]) -> None:
    """Whatever was interrupted, even another handler: all is committed, and the process ends."""
    topic, group = filled_topic(cluster), fresh_name("group")
    arguments = [cluster.zookeeper_connect, group, topic]
    with warm.Popen(
        [sys.executable, "-m", "tests.support.signalled_consumer", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            for offset in range(10):
                assert process.stdout.readline() == f"{offset}\n"
            started_ms = CLOCK.now_ms()
            for number in signals:
                process.send_signal(number)
            out, errors = process.communicate(timeout=20)
            assert elapsed_ms(started_ms) < PROMPT_MS
        finally:
            process.kill()
    assert (process.returncode, errors) == (0, "")
    assert out == "ended with 0 more threads\n"
    tree = ZkTree(cluster)
    assert tree.members(group) == []
    # The signal may come before the next call, which is what marks the last message as processed.
    assert tree.offset(group, TopicPartition(topic, 0)) in {9, 10}
