"""Runs confluent-kafka (librdkafka) as a member of a coordinator group.

``consume`` returns up to 10,000 messages at a time, its fastest mode; ``poll`` returns one, as most
of its users read. Its queue is made large; it does not verify checksums, which is its default. The
clock starts when the group is joined.
"""

import time

from confluent_kafka import Consumer, TopicPartition

from tests.benchmarks.clients.job import Job, Stopwatch

_AT_ONCE = 10_000
_WAIT_S = 30


class Joining:
    """Joins the group; starts the clock when the partitions are assigned, before any record."""

    def __init__(self, job: Job) -> None:
        self.began_ns = time.perf_counter_ns()
        self.watch: Stopwatch | None = None
        self.consumer = Consumer(
            {
                "bootstrap.servers": job.bootstrap,
                "group.id": job.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "queued.min.messages": 1_000_000,
                "max.partition.fetch.bytes": job.fetch_bytes,
                "log_level": 2,
            }
        )
        self.consumer.subscribe([job.topic], on_assign=self._assigned)

    def _assigned(self, _consumer: Consumer, _partitions: list[TopicPartition]) -> None:
        self.watch = Stopwatch()

    @property
    def join_ms(self) -> float:
        """The time from creating the consumer to its assignment."""
        assert self.watch is not None
        return (self.watch.began_ns - self.began_ns) / 1e6


def consume(job: Job, joining: Joining) -> int:
    """Read in lists, the first record alone; return the sum of the lengths of all values."""
    total = poll(job, joining, 1)
    count = 1
    while count < job.records:
        # It waits until it has as many as requested.
        messages = joining.consumer.consume(min(_AT_ONCE, job.records - count), timeout=_WAIT_S)
        if not messages:
            raise TimeoutError(f"nothing came after {count} records")
        for message in messages:
            total += len(message.value())
        count += len(messages)
    return total


def poll(job: Job, joining: Joining, records: int | None = None) -> int:
    """Read one by one, ``records`` or all; return the sum of the lengths of the values."""
    message = joining.consumer.poll(_WAIT_S)
    if message is None:
        raise TimeoutError("nothing came")
    assert joining.watch is not None
    joining.watch.first()
    total = len(message.value())
    for count in range(1, job.records if records is None else records):
        message = joining.consumer.poll(_WAIT_S)
        if message is None:
            raise TimeoutError(f"nothing came after {count} records")
        total += len(message.value())
    return total


def main() -> None:
    """Run the job on the command line."""
    job = Job.of_command_line()
    joining = Joining(job)
    total = (poll if job.mode == "poll" else consume)(job, joining)
    assert joining.watch is not None
    joining.watch.finish(total // job.value_bytes, total, join_ms=joining.join_ms)
    joining.consumer.close()


if __name__ == "__main__":
    main()
