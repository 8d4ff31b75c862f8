"""Runs kafka-python as a member of a coordinator group.

``poll`` returns up to 10,000 records at a time, its fastest mode; ``iterate`` is
``for record in consumer``. The clock starts when the group is joined.
"""

import time
from itertools import islice

from kafka import ConsumerRebalanceListener, KafkaConsumer, TopicPartition

from tests.benchmarks.clients.job import Job, Stopwatch

_AT_ONCE = 10_000
_WAIT_MS = 30_000


class Joining(ConsumerRebalanceListener):  # type: ignore[misc] # the package has no types
    """Starts the clock when the partitions are assigned."""

    def __init__(self) -> None:
        self.began_ns = time.perf_counter_ns()
        self.watch: Stopwatch | None = None

    def on_partitions_assigned(self, _partitions: list[TopicPartition]) -> None:
        """Start the clock: the group is joined."""
        self.watch = Stopwatch()

    def on_partitions_revoked(self, _partitions: list[TopicPartition]) -> None:
        """Do nothing: nothing was read yet."""

    @property
    def join_ms(self) -> float:
        """The time from creating the consumer to its assignment."""
        assert self.watch is not None
        return (self.watch.began_ns - self.began_ns) / 1e6


def poll(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """Read in lists; return the sum of the lengths of all values."""
    total = count = 0
    while count < job.records:
        found = consumer.poll(timeout_ms=_WAIT_MS)
        if not found:
            raise TimeoutError(f"nothing came after {count} records")
        if not count:
            assert joining.watch is not None
            joining.watch.first()
        for messages in found.values():
            for message in messages:
                total += len(message.value)
            count += len(messages)
    return total


def iterate(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """Read one by one; return the sum of the lengths of all values."""
    total = len(next(consumer).value)
    assert joining.watch is not None
    joining.watch.first()
    for message in islice(consumer, job.records - 1):
        total += len(message.value)
    return total


def main() -> None:
    """Run the job on the command line."""
    job = Job.of_command_line()
    joining = Joining()
    consumer = KafkaConsumer(
        bootstrap_servers=job.bootstrap,
        group_id=job.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=job.fetch_bytes,
        max_poll_records=_AT_ONCE,
        consumer_timeout_ms=_WAIT_MS,
    )
    consumer.subscribe([job.topic], listener=joining)
    total = (iterate if job.mode == "iterate" else poll)(job, consumer, joining)
    assert joining.watch is not None
    joining.watch.finish(total // job.value_bytes, total, join_ms=joining.join_ms)
    consumer.close()


if __name__ == "__main__":
    main()
