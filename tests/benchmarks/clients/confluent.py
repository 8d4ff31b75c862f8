"""Runs confluent-kafka (librdkafka) with assigned partitions: 0.8 brokers allow it nothing else.

Without ``api.version.request=false`` and ``broker.version.fallback`` it can't connect at all. Its
queue is made large, which is fastest; it does not verify checksums, which is its default. The clock
starts when it knows the topic: otherwise it would spend half a second on looking it up.
"""

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from tests.benchmarks.clients.job import Job, Stopwatch, report_delays, say_ready
from tests.benchmarks.clients.stamps import Delays

_AT_ONCE = 10_000


def open_consumer(job: Job) -> Consumer:
    """Return a consumer that is connected and knows the topic."""
    consumer = Consumer(
        {
            "bootstrap.servers": job.bootstrap,
            "group.id": job.group,
            "api.version.request": False,
            "broker.version.fallback": "0.8.2.2",
            "enable.auto.commit": False,
            "queued.min.messages": 1_000_000,
            "fetch.message.max.bytes": job.fetch_bytes,
            "log_level": 2,
        }
    )
    consumer.list_topics(job.topic, timeout=30)
    return consumer


def assign(consumer: Consumer, job: Job, start: int) -> None:
    """Start fetching all partitions, each from ``start``."""
    consumer.assign(
        [TopicPartition(job.topic, partition, start) for partition in range(job.partitions)]
    )


def read(job: Job) -> None:
    """Read all records, in lists."""
    consumer = open_consumer(job)
    watch = Stopwatch()
    assign(consumer, job, OFFSET_BEGINNING)
    total = count = 0
    while count < job.records:
        # It waits until it has as many as requested.
        messages = consumer.consume(min(_AT_ONCE, job.records - count), timeout=30)
        if not messages:
            raise TimeoutError(f"nothing came after {count} records")
        if not count:
            watch.first()
        for message in messages:
            total += len(message.value())
        count += len(messages)
    watch.finish(count, total)
    consumer.close()


def latency(job: Job) -> None:
    """Measure and report the delay of each message."""
    consumer = open_consumer(job)
    assign(consumer, job, OFFSET_END)
    delays = Delays()
    consumer.poll(2)  # it looks up the end offsets; nothing is produced yet
    say_ready()
    while True:
        message = consumer.poll(30)
        if message is None:
            raise TimeoutError("nothing came")
        if not delays.take(message.value()):
            break
    report_delays(delays.found_ns)
    consumer.close()


if __name__ == "__main__":
    the_job = Job.of_command_line()
    latency(the_job) if the_job.mode == "latency" else read(the_job)
