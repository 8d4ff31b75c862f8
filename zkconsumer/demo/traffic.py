"""Writes log lines at a steady rate, and counts the acknowledged ones."""

import datetime
import logging
import threading
from collections.abc import Sequence
from contextlib import closing

from zkconsumer.clock import SystemClock
from zkconsumer.demo.lines import log_line
from zkconsumer.errors import ZkConsumerError
from zkconsumer.model import Broker, Record, TopicPartition
from zkconsumer.produce.batch_producer import BatchProducer

log = logging.getLogger(__name__)

_TURN_MS = 100


_SAMPLE_SET = 500


def write_sample(brokers: Sequence[Broker], topic: str, partitions: int, count: int) -> None:
    """Write ``count`` log lines, spread evenly over the partitions of a topic."""
    with closing(BatchProducer(brokers)) as producer:
        for partition in range(partitions):
            numbers = range(partition, count, partitions)
            for start in range(0, len(numbers), _SAMPLE_SET):
                lines = _lines(numbers[start : start + _SAMPLE_SET])
                producer.write({TopicPartition(topic, partition): lines})


def _lines(numbers: range) -> list[Record]:
    now = datetime.datetime.now(datetime.UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
    return [Record(0, None, log_line(number, now).encode()) for number in numbers]


class TrafficWriter:
    """Writes log lines to the partitions in turn, until it is stopped.

    A line is written again until the broker acknowledges it, so each number from ``first`` to below
    ``acknowledged_count`` is in the log at least once.

    Args:
        brokers: the bootstrap brokers.
        partitions: the partitions to write to.
        lines_per_second: the rate.
        first: the number of the first line; lines before it were written by another producer.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        partitions: Sequence[TopicPartition],
        *,
        lines_per_second: int,
        first: int = 0,
    ) -> None:
        self._brokers = brokers
        self._partitions = partitions
        self._batch = max(1, lines_per_second * _TURN_MS // 1000)
        self._stop = threading.Event()
        self._clock = SystemClock()
        self._ended = threading.Event()
        self.acknowledged_count = first

    @property
    def has_ended(self) -> bool:
        """Whether the writer has ended. Thread: any."""
        return self._ended.is_set()

    def stop(self) -> None:
        """Request the end after the current batch. Thread: any."""
        self._stop.set()

    def run(self) -> None:
        """Write until stopped."""
        producer = BatchProducer(self._brokers)
        turn = 0
        due_ms = self._clock.now_ms()
        try:
            while not self._stop.is_set():
                tp = self._partitions[turn % len(self._partitions)]
                if self._send(producer, tp):
                    turn += 1
                due_ms = max(due_ms + _TURN_MS, self._clock.now_ms() - 1000)
                self._stop.wait(max(0, due_ms - self._clock.now_ms()) / 1000)
        finally:
            producer.close()
            self._ended.set()

    def _send(self, producer: BatchProducer, tp: TopicPartition) -> bool:
        first = self.acknowledged_count
        try:
            producer.write({tp: _lines(range(first, first + self._batch))})
        except ZkConsumerError as error:
            log.info("written again in a moment: %s", error)
            return False
        self.acknowledged_count = first + self._batch
        return True
