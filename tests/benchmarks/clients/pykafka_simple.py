"""Runs pykafka's simple consumer: its group consumer breaks groups with members of the original."""

from pykafka import KafkaClient
from pykafka.common import OffsetType

from tests.benchmarks.clients.job import Job, Stopwatch


def main() -> None:
    """Read all records one by one, which is the only mode of pykafka."""
    job = Job.of_command_line()
    watch = Stopwatch()
    client = KafkaClient(hosts=job.bootstrap, broker_version="0.8.2")
    consumer = client.topics[job.topic].get_simple_consumer(
        auto_offset_reset=OffsetType.EARLIEST,
        reset_offset_on_start=True,
        fetch_message_max_bytes=job.fetch_bytes,
        fetch_wait_max_ms=100,
    )
    total = 0
    for number in range(job.records):
        message = consumer.consume()
        if not number:
            watch.first()
        total += len(message.value)
    watch.finish(job.records, total)
    consumer.stop()


if __name__ == "__main__":
    main()
