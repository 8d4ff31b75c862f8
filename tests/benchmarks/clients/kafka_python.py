"""Runs kafka-python with assigned partitions: it supports no groups on a 0.8 broker.

It can't determine such a broker's version (``api_version`` must be given).
"""

from kafka import KafkaConsumer, TopicPartition

from tests.benchmarks.clients.job import Job, Stopwatch, report_delays, say_ready
from tests.benchmarks.clients.stamps import Delays

_AT_ONCE = 10_000


def open_consumer(job: Job) -> tuple[KafkaConsumer, list[TopicPartition]]:
    """Return a consumer to which all partitions are assigned, and the partitions."""
    consumer = KafkaConsumer(
        bootstrap_servers=job.bootstrap,
        api_version=(0, 8, 2),
        group_id=None,
        enable_auto_commit=False,
        max_partition_fetch_bytes=job.fetch_bytes,
        fetch_max_wait_ms=100,
        max_poll_records=_AT_ONCE,
    )
    partitions = [TopicPartition(job.topic, partition) for partition in range(job.partitions)]
    consumer.assign(partitions)
    return consumer, partitions


def read(job: Job) -> None:
    """Read all records, in lists."""
    watch = Stopwatch()
    consumer, partitions = open_consumer(job)
    consumer.seek_to_beginning(*partitions)
    total = count = 0
    while count < job.records:
        found = consumer.poll(timeout_ms=30_000)
        if not found:
            raise TimeoutError(f"nothing came after {count} records")
        if not count:
            watch.first()
        for messages in found.values():
            for message in messages:
                total += len(message.value)
            count += len(messages)
    watch.finish(count, total)


def latency(job: Job) -> None:
    """Measure and report the delay of each message."""
    consumer, partitions = open_consumer(job)
    consumer.seek_to_end(*partitions)
    for partition in partitions:
        consumer.position(partition)
    delays = Delays()
    say_ready()
    while True:
        for messages in consumer.poll(timeout_ms=30_000).values():
            for message in messages:
                if not delays.take(message.value):
                    report_delays(delays.found_ns)
                    return


if __name__ == "__main__":
    the_job = Job.of_command_line()
    latency(the_job) if the_job.mode == "latency" else read(the_job)
