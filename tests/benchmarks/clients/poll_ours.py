"""Our poll API as a member of a coordinator group, written as one writes it with kafka-python.

``poll`` takes up to 10,000 at a time, as the other's client does, ``poll-500`` what the default
gives; ``iterate`` is ``for record in consumer``; ``arrow`` takes record batches. The clock starts
when the group is joined. All checksums are checked.
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
    """Starts the clock when the partitions come."""

    def __init__(self) -> None:
        self.began_ns = time.perf_counter_ns()
        self.watch: Stopwatch | None = None

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """The group is joined."""
        del assigned
        self.watch = Stopwatch()

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Nothing was read."""

    def first(self) -> None:
        """The first record is there."""
        assert self.watch is not None
        self.watch.first()

    @property
    def join_ms(self) -> float:
        """From making the consumer to its partitions."""
        assert self.watch is not None
        return (self.watch.began_ns - self.began_ns) / 1e6


def poll(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """The sum of the lengths of all values, in lists."""
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
    """The same one by one."""
    total = len(next(consumer).value)
    joining.first()
    for record in islice(consumer, job.records - 1):
        total += len(record.value)
    return total


def arrow(job: Job, consumer: KafkaConsumer, joining: Joining) -> int:
    """The same in Arrow record batches; their offsets tell the lengths."""
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
    """Read it."""
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
