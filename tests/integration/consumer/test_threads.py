"""One thread polls a real broker; others query, pause and resume, and one closes."""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.traffic import partitions_of, write
from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer, TopicPartition
from zkconsumer.errors import ConsumerClosed

pytestmark = pytest.mark.sandbox

PARTITIONS, EACH = 3, 20_000
WAIT_S = 60
Offsets = dict[TopicPartition, list[int]]


class PollingThread:
    """Polls until the consumer is closed; records the offsets, and the positions between polls."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.received: Offsets = defaultdict(list)
        self.borders: dict[TopicPartition, set[int]] = defaultdict(lambda: {0})
        self.count = 0

    def run(self) -> None:
        """Poll until the consumer is closed."""
        while True:
            try:
                found = self.consumer.poll(500, max_records=50)
            except ConsumerClosed:
                return
            for tp, records in found.items():
                self.received[tp] += [record.offset for record in records]
                self.borders[tp].add(records[-1].offset + 1)
                self.count += len(records)


class QueryingThreads:
    """Calls that are repeated until the consumer is closed."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.seen: Offsets = defaultdict(list)
        self.snapshots = 0

    def query_positions(self) -> None:
        """Record the positions of the polling thread."""
        for tp in self.consumer.assignment():
            self.seen[tp].append(self.consumer.position(tp))
            assert self.consumer.highwater(tp) in {None, EACH}

    def query_the_rest(self) -> None:
        """Make all other calls that any thread may make."""
        consumer = self.consumer
        assert len(consumer.subscription() or ()) == 1
        assert consumer.group_metadata().member_id or not consumer.assignment()
        assert consumer.metrics().get("consumer-metrics")
        assert consumer.paused() <= set(partitions_of(next(iter(consumer.subscription() or ())), 9))

    def pause_and_resume(self) -> None:
        """Pause a partition for a moment."""
        for tp in sorted(self.consumer.assignment())[:1]:
            self.consumer.pause(tp)
            assert tp in self.consumer.paused()
            self.consumer.resume(tp)

    def repeat(self, call: Callable[[], None]) -> None:
        """Repeat a call until the consumer is closed; a failure at the close is ignored."""
        while True:
            try:
                call()
            except (AssertionError, ConsumerClosed):
                if not self.is_closed():
                    raise
            if self.is_closed():
                return
            self.snapshots += 1

    def is_closed(self) -> bool:
        """Return whether it is closed: then it has no metrics."""
        try:
            return not self.consumer.metrics()
        except ConsumerClosed:
            return True


@pytest.mark.parametrize("version", ["3.9.1"])
def test_other_threads_may_query_while_one_polls(broker_of: BrokerOf, version: str) -> None:
    """Positions are those between two polls; a close ends all threads, and commits exactly."""
    sandbox, topic, group = broker_of(version), fresh_name("threads"), fresh_name("g")
    sandbox.create_topic(topic, partitions=PARTITIONS)
    for tp in partitions_of(topic, PARTITIONS):
        write(sandbox, tp, [b"%d" % number for number in range(EACH)])
    settings: dict[str, Any] = {
        "bootstrap_servers": sandbox.bootstrap_servers,
        "group_id": group,
        "auto_offset_reset": "earliest",
    }
    consumer = KafkaConsumer(topic, **settings)
    polling, querying = PollingThread(consumer), QueryingThreads(consumer)
    with ThreadPoolExecutor(4) as pool:
        polled = pool.submit(polling.run)
        snapshots = [
            pool.submit(querying.repeat, call)
            for call in (
                querying.query_positions,
                querying.query_the_rest,
                querying.pause_and_resume,
            )
        ]
        wait_until(
            lambda: polling.count > EACH or any(future.done() for future in (polled, *snapshots)),
            what="records",
            timeout_s=WAIT_S,
        )
        assert not [future for future in (polled, *snapshots) if future.done()]
        consumer.close()
        for ended in (polled, *snapshots):
            ended.result(WAIT_S)
    assert querying.snapshots > 100
    for tp, offsets in polling.received.items():
        assert offsets == list(range(len(offsets)))
        assert set(querying.seen[tp]) <= polling.borders[tp]
        assert all(before <= after for before, after in pairwise(querying.seen[tp]))
    with closing(KafkaConsumer(**settings)) as outside:
        for tp in partitions_of(topic, PARTITIONS):
            assert (outside.committed(tp) or 0) == len(polling.received[tp])
