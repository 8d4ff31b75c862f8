"""confluent-kafka (librdkafka), in the only way it can read from a 0.8 broker: assigned partitions.

``api.version.request=false`` and ``broker.version.fallback`` are what it needs to connect at all.
Its queue is made large, which is its fastest; checksums it leaves unchecked, as is its default. The
clock starts when it knows the topic: without that, it spends half a second on finding out.
"""

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, TopicPartition

from tests.benchmarks.clients.job import Job, Stopwatch, report_delays, say_ready
from tests.benchmarks.clients.stamps import Delays

_AT_ONCE = 10_000


def open_consumer(job: Job) -> Consumer:
    """A consumer that is connected and knows the topic."""
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
    """Begin to fetch all partitions."""
    consumer.assign(
        [TopicPartition(job.topic, partition, start) for partition in range(job.partitions)]
    )


def read(job: Job) -> None:
    """All records, in lists."""
    consumer = open_consumer(job)
    watch = Stopwatch()
    assign(consumer, job, OFFSET_BEGINNING)
    total = count = 0
    while count < job.records:
        # It waits for as many as it is asked for.
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
    """How late each message comes."""
    consumer = open_consumer(job)
    assign(consumer, job, OFFSET_END)
    delays = Delays()
    consumer.poll(2)  # it asks for the end offsets; nothing is produced yet
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
