"""Runs our poll API as a member of a coordinator group, with the same code as kafka-python's users.

``poll`` returns up to 10,000 records at a time, as in ``poll_kafka_python``, ``poll-500`` up to the
default of 500; ``iterate`` is ``for record in consumer``; ``arrow`` reads record batches. The clock
starts when the group is joined. All checksums are verified.
"""

import time
from collections.abc import Callable, Collection
from itertools import islice

from tests.benchmarks.clients.job import Job, Stopwatch, load_arrow
from zkconsumer import ConsumerRebalanceListener, KafkaConsumer, TopicPartition
from zkconsumer.records.engine import ENGINE

_AT_ONCE = {"poll": 10_000}
_WAIT_MS = 30_000


class Joining(ConsumerRebalanceListener):
    """Starts the clock when the partitions are assigned."""

    def __init__(self) -> None:
        self.began_ns = time.perf_counter_ns()
        self.watch: Stopwatch | None = None

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Start the clock: the group is joined."""
        del assigned
        self.watch = Stopwatch()

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Do nothing: nothing was read yet."""

    def first(self) -> None:
        """Record that the first record has arrived."""
        assert self.watch is not None
        self.watch.first()

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
            joining.first()
        for records in found.values():
            for record in records:
                total += len(record.value)
            count += len(records)
    return total


def iterate(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """Read one by one; return the sum of the lengths of all values."""
    total = len(next(consumer).value)
    joining.first()
    for record in islice(consumer, job.records - 1):
        total += len(record.value)
    return total


def arrow(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """Read in Arrow record batches, whose offsets give the lengths; return the sum of lengths."""
    total = count = 0
    while count < job.records:
        batch = consumer.poll_arrow(timeout_ms=_WAIT_MS)
        if not batch.num_rows:
            raise TimeoutError(f"nothing came after {count} records")
        if not count:
            joining.first()
        values = batch.column("value")
        ends = memoryview(values.buffers()[1]).cast("i")
        total += int(ends[values.offset + len(values)] - ends[values.offset])
        count += len(values)
    return total


WAYS: dict[str, Callable[[Job, KafkaConsumer, Joining], int]] = {
    "poll": poll,
    "poll-500": poll,
    "iterate": iterate,
    "arrow": arrow,
}


def main() -> None:
    """Run the job on the command line."""
    job = Job.of_command_line()
    if job.mode == "arrow":
        load_arrow()
    joining = Joining()
    consumer = KafkaConsumer(
        bootstrap_servers=job.bootstrap,
        group_id=job.group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_poll_records=_AT_ONCE.get(job.mode, 500),
        consumer_timeout_ms=_WAIT_MS,
    )
    with consumer:
        consumer.subscribe([job.topic], listener=joining)
        total = WAYS[job.mode](job, consumer, joining)
        assert joining.watch is not None
        joining.watch.finish(
            total // job.value_bytes, total, join_ms=joining.join_ms, engine=str(ENGINE)
        )


if __name__ == "__main__":
    main()
