"""One thread polls a real broker, others look, pause, resume and at the end close."""

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
    """Polls until somebody closes, and notes what it was handed, and where it stood in between."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.handed: Offsets = defaultdict(list)
        self.borders: dict[TopicPartition, set[int]] = defaultdict(lambda: {0})
        self.count = 0

    def run(self) -> None:
        """The thread that polls."""
        while True:
            try:
                found = self.consumer.poll(500, max_records=50)
            except ConsumerClosed:
                return
            for tp, records in found.items():
                self.handed[tp] += [record.offset for record in records]
                self.borders[tp].add(records[-1].offset + 1)
                self.count += len(records)


class Looking:
    """Looks again and again, until the consumer is closed."""

    def __init__(self, consumer: KafkaConsumer) -> None:
        self.consumer = consumer
        self.seen: Offsets = defaultdict(list)
        self.snapshots = 0

    def at_positions(self) -> None:
        """Where the other thread stands."""
        for tp in self.consumer.assignment():
            self.seen[tp].append(self.consumer.position(tp))
            assert self.consumer.highwater(tp) in {None, EACH}

    def at_the_rest(self) -> None:
        """All else that may be looked at."""
        consumer = self.consumer
        assert len(consumer.subscription() or ()) == 1
        assert consumer.group_metadata().member_id or not consumer.assignment()
        assert consumer.metrics().get("consumer-metrics")
        assert consumer.paused() <= set(partitions_of(next(iter(consumer.subscription() or ())), 9))

    def pausing(self) -> None:
        """Hold one up for a moment."""
        for tp in sorted(self.consumer.assignment())[:1]:
            self.consumer.pause(tp)
            assert tp in self.consumer.paused()
            self.consumer.resume(tp)

    def again_and_again(self, look: Callable[[], None]) -> None:
        """Until it is closed; who missed that, and found what it tells then, was not wrong."""
        while True:
            try:
                look()
            except (AssertionError, ConsumerClosed):
                if not self.is_closed():
                    raise
            if self.is_closed():
                return
            self.snapshots += 1

    def is_closed(self) -> bool:
        """Tell by its numbers, which are gone then."""
        try:
            return not self.consumer.metrics()
        except ConsumerClosed:
            return True


@pytest.mark.parametrize("version", ["3.9.1"])
def test_threads_beside_one_that_polls(broker_of: BrokerOf, version: str) -> None:
    """Positions are those between two polls, never ones amid; a close ends all, and is exact."""
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
    polling, looking = PollingThread(consumer), Looking(consumer)
    with ThreadPoolExecutor(4) as pool:
        polled = pool.submit(polling.run)
        snapshots = [
            pool.submit(looking.again_and_again, look)
            for look in (looking.at_positions, looking.at_the_rest, looking.pausing)
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
    assert looking.snapshots > 100
    for tp, offsets in polling.handed.items():
        assert offsets == list(range(len(offsets)))
        assert set(looking.seen[tp]) <= polling.borders[tp]
        assert all(before <= after for before, after in pairwise(looking.seen[tp]))
    with closing(KafkaConsumer(**settings)) as outside:
        for tp in partitions_of(topic, PARTITIONS):
            assert (outside.committed(tp) or 0) == len(polling.handed[tp])
