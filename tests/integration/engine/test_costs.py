"""What a consumer costs on a real broker, in the engine that this process runs.

CPU when idle, the time to the first message, memory, and the time to shut down.
"""

import json
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.clusters import fresh_name
from tests.support.consumer_probe import Task
from tests.support.members import settings_for
from tests.support.queues import RUNS_NATIVE
from tests.support.set_producer import Producer
from tests.support.traffic import partitions_of, write
from tests.support.yardstick import piece_s
from zkconsumer import ConsumerTimeout, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.model import Record
from zkconsumer.records.codecs import Codec
from zkconsumer.sandbox import Sandbox

pytestmark = [pytest.mark.sandbox, pytest.mark.alone]

CLOCK = SystemClock()
TRIES = 5
REST_MS = 5_000
FETCH_WAIT_MS = 100
"""The default of ``fetch.wait.max.ms``."""
MIB = 1 << 20


def probe(
    work: str, cluster: Sandbox, topic: str, *, records: int = 0, waiting: int = 0, **settings: int
) -> dict[str, float]:
    """Run a task in a process; see ``Task``. ``settings`` are the consumer's, with underscores."""
    task: Task = {
        "settings": {
            "zookeeper.connect": cluster.zookeeper_connect,
            "group.id": fresh_name("probe"),
            "auto.offset.reset": "smallest",
            **{name.replace("_", "."): str(value) for name, value in settings.items()},
        },
        "topic": topic,
        "records": records,
        "waiting_bytes": waiting,
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.consumer_probe", work, json.dumps(task)],
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    engine, reported = json.loads(done.stdout)
    assert engine == ("native" if RUNS_NATIVE else "pure")
    costs: dict[str, float] = reported
    return costs


def test_an_idle_consumer_costs_next_to_nothing(cluster: Sandbox) -> None:
    """It takes below 2 % of a core, and fetches once per ``fetch.wait.max.ms``.

    With 200 partitions each response has 200 empty parts: that is 2 ms of Python a response, and
    three of the CPU yardstick's pieces in all.
    """
    topics = {count: fresh_name(f"rest-{count}") for count in (1, 200)}
    for count, topic in topics.items():
        cluster.create_topic(topic, partitions=count)
    with ThreadPoolExecutor() as pool:
        futures = {
            count: pool.submit(probe, "rest", cluster, topic, consumer_timeout_ms=REST_MS)
            for count, topic in topics.items()
        }
        reported = {count: future.result() for count, future in futures.items()}
    for count, figures in reported.items():
        most_s = 0.02 * figures["wall_s"]
        if not RUNS_NATIVE and count > 1:
            most_s = 5 * piece_s(time.process_time)
        assert figures["cpu_s"] < most_s, reported
        # The native engine reports its fetches once a second.
        most = figures["wall_s"] * 1000 / FETCH_WAIT_MS
        assert 0.5 * most < figures["fetches"] < 1.3 * most, reported


def test_the_first_message_comes_as_soon_as_the_group_is_joined(cluster: Sandbox) -> None:
    """It comes within 100 ms of ``create_message_streams``, in the median."""
    topic = fresh_name("first")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    write(cluster, tp, [b"x" * 100] * 1_000)
    took_ms = []
    for _ in range(TRIES):
        config = settings_for(cluster, fresh_name("group"), consumer_timeout_ms=10_000)
        with ZookeeperConsumerConnector(config) as connector:
            [stream] = connector.create_message_streams({topic: 1})[topic]
            joined_ms = CLOCK.now_ms()
            assert next(stream).offset == 0
            took_ms.append(CLOCK.now_ms() - joined_ms)
    assert statistics.median(took_ms) < 100, took_ms


def test_a_shutdown_does_not_wait_for_a_long_poll(cluster: Sandbox) -> None:
    """The broker would respond in 10 s; the shutdown takes below 200 ms, in the median."""
    topic = fresh_name("held")
    cluster.create_topic(topic)
    [tp] = partitions_of(topic, 1)
    took_ms = []
    for _ in range(TRIES):
        offset = write(cluster, tp, [b"value"])
        group = fresh_name("group")
        config = settings_for(cluster, group, fetch_wait_max_ms=10_000, consumer_timeout_ms=300)
        with ZookeeperConsumerConnector(config) as connector:
            [stream] = connector.create_message_streams({topic: 1})[topic]
            assert [next(stream).offset for _ in range(offset + 1)] == list(range(offset + 1))
            # By the end of this the next fetch waits at the broker.
            with pytest.raises(ConsumerTimeout):
                next(stream)
            began_ms = CLOCK.now_ms()
            connector.shutdown()
            assert list(stream) == []
            took_ms.append(CLOCK.now_ms() - began_ms)
    assert statistics.median(took_ms) < 200, took_ms


def test_memory_is_bounded_for_data_that_decompresses_fiftyfold(cluster: Sandbox) -> None:
    """It grows by at most the budget, one response, and 8 MiB."""
    topic, of_set, sets = fresh_name("dense"), 500, 90
    cluster.create_topic(topic, partitions=2)
    values = [b"%06d" % number + b" GET /item took 17 us" * 48 for number in range(of_set)]
    producer = Producer(cluster.brokers)
    try:
        for tp in partitions_of(topic, 2):
            for _ in range(sets):
                records = [Record(0, None, value) for value in values]
                producer.send(tp, records, codec=Codec.GZIP)
    finally:
        producer.close()
    budget_bytes, response_bytes = 16 * MIB, 2 * MIB
    reported = probe(
        "read_late",
        cluster,
        topic,
        records=2 * sets * of_set,
        waiting=budget_bytes // 2,
        queued_max_bytes=budget_bytes,
        queued_max_message_chunks=1_000,
        fetch_max_bytes=response_bytes,
        consumer_timeout_ms=20_000,
    )
    assert reported["value_bytes"] == 2 * sets * sum(map(len, values))
    assert reported["value_bytes"] > 4 * budget_bytes
    grown_bytes = reported["peak_bytes"] - reported["loaded_bytes"]
    assert grown_bytes < budget_bytes + response_bytes + 8 * MIB, reported
