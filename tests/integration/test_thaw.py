"""A reader that was frozen delivers nothing, after its thaw, that others have read.

It is frozen until its session of 4 s is over, and another member owns all partitions, has read them
to their ends, and goes on. What the frozen one had fetched before is still in its memory.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import product
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.matrix import in_matrix
from tests.support.thawed_reader import Task, ThawedReader
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.long]

RECORDS = 5_000
"""In each of two partitions."""
SESSION_MS = 4_000
COMMITS: Mapping[str, object] = {"auto_commit_interval_ms": 200}
"""The settings of the other reader, which must commit soon after it has read."""
STREAM: Mapping[str, object] = {
    **COMMITS,
    "auto_offset_reset": "smallest",
    "zookeeper_session_timeout_ms": SESSION_MS,
    "rebalance_backoff_ms": 200,
    "rebalance_max_retries": 40,
}
POLL_ZOOKEEPER: Mapping[str, object] = {**STREAM, "auto_offset_reset": "earliest"}
POLL_COORDINATOR: Mapping[str, object] = {
    **COMMITS,
    "auto_offset_reset": "earliest",
    "session_timeout_ms": SESSION_MS,
    "heartbeat_interval_ms": 1_000,
    # Brokers of 0.9 occasionally leave a request without a response.
    "request_timeout_ms": 5_000,
}


@contextmanager
def _two_readers(
    cluster: Sandbox, way: str, settings: Mapping[str, object], folder: Path, *, pure: bool
) -> Iterator[tuple[ThawedReader, Callable[[], ThawedReader], list[TopicPartition]]]:
    """Start a slow reader, and yield how to start a quick one; end both."""
    topic, group = fresh_name("thaw"), fresh_name("group")
    partitions = partitions_of(topic, 2)
    cluster.create_topic(topic, partitions=2)
    for tp in partitions:
        write(cluster, tp, [b"value %d" % number for number in range(RECORDS)])

    def start(name: str, pace_us: int, *, commits: bool) -> ThawedReader:
        of_streams = way in ("one by one", "batches", "arrow")
        switch = "auto_commit_enable" if of_streams else "enable_auto_commit"
        task = Task(
            way=way,
            topic=topic,
            settings={**settings, "group_id": group, switch: commits},
            output=str(folder / name),
            pace_us=pace_us,
        )
        reader = ThawedReader(task, pure=pure)
        ended.callback(reader.end)
        return reader

    with ExitStack() as ended:
        frozen = start("frozen", 1_000, commits=False)
        yield frozen, lambda: start("other", 0, commits=True), partitions


def _check_a_thaw(
    cluster: Sandbox,
    way: str,
    settings: Mapping[str, object],
    folder: Path,
    *,
    pure: bool = False,
) -> None:
    with _two_readers(cluster, way, settings, folder, pure=pure) as (frozen, another, partitions):
        wait_until(lambda: len(frozen.noted().before) > RECORDS // 10, what="some messages")
        frozen.freeze()
        other = another()
        wait_until(
            lambda: set(other.noted().before) >= _all(partitions, 0, RECORDS),
            what="the other one to read everything, which it may when the session is over",
        )
        read_by_other = set(other.noted().before)
        frozen.thaw()
        more: set[tuple[int, int]] = set()

        def write_more() -> bool:
            """Write message by message, so that each reader gets some once it owns a partition."""
            more.update((tp.partition, write(cluster, tp, [b"more"])) for tp in partitions)
            return bool(frozen.noted().thawed) and len(more) > 20

        wait_until(write_more, what="a share for the thawed one")
        wait_until(
            lambda: set(other.noted().before) | set(frozen.noted().thawed) >= more,
            what="all that was written after the thaw",
        )
        again = [place for place in frozen.noted().thawed if place in read_by_other]
        reported = f"the frozen one: {frozen.log()}\nthe other one: {other.log()}"
        assert again == [], f"{len(again)} messages that the other one had read\n{reported}"


def _all(partitions: list[TopicPartition], begin: int, end: int) -> set[tuple[int, int]]:
    return {(tp.partition, offset) for tp in partitions for offset in range(begin, end)}


@in_matrix(
    ("way", "engine"),
    product(["one by one", "batches", "arrow"], ["native", "pure"]),
    [("one by one", "native"), ("batches", "native"), ("arrow", "native"), ("one by one", "pure")],
)
def test_a_thawed_stream_delivers_nothing_that_others_have_read(
    cluster: Sandbox, tmp_path: Path, way: str, engine: str
) -> None:
    """Streams are read in every way."""
    settings = {**STREAM, "zookeeper_connect": cluster.zookeeper_connect}
    _check_a_thaw(cluster, way, settings, tmp_path, pure=engine == "pure")


@pytest.mark.parametrize("way", ["polls", "iteration"])
def test_thawed_polls_return_nothing_that_others_have_read(
    cluster: Sandbox, tmp_path: Path, way: str
) -> None:
    """The poll API is in a ZooKeeper group."""
    settings = {**POLL_ZOOKEEPER, "zookeeper_connect": cluster.zookeeper_connect}
    _check_a_thaw(cluster, way, settings, tmp_path)


@in_matrix(
    ("version", "way"),
    product(["0.9.0.1", "3.9.1"], ["polls", "iteration"]),
    [("0.9.0.1", "polls"), ("3.9.1", "iteration")],
)
def test_thawed_polls_in_a_coordinators_group_return_nothing_that_others_have_read(
    broker_of: BrokerOf, tmp_path: Path, way: str, version: str
) -> None:
    """The session is kept by heartbeats."""
    sandbox = broker_of(version)
    servers = [f"{broker.host}:{broker.port}" for broker in sandbox.brokers]
    settings = {**POLL_COORDINATOR, "bootstrap_servers": servers}
    _check_a_thaw(sandbox, way, settings, tmp_path)
