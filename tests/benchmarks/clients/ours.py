"""Runs our consumer as users do: joins a group, creates one stream, reads it.

The clock starts when the group is joined, as in the original's performance tool.
"""

import time
from collections.abc import Callable
from itertools import islice

from tests.benchmarks.clients.job import Job, Stopwatch, load_arrow, report_delays, say_ready
from tests.benchmarks.clients.stamps import Delays
from zkconsumer import ConsumerConfig, KafkaStream, ZookeeperConsumerConnector
from zkconsumer.records.engine import ENGINE

Stream = KafkaStream[bytes, bytes]
BATCH_RECORDS = 1000


def one_by_one(job: Job, stream: Stream, watch: Stopwatch) -> int:
    """Read message by message; return the sum of the lengths of all values."""
    total = len(next(stream).value or b"")
    watch.first()
    for message in islice(stream, job.records - 1):
        total += len(message.value)  # type: ignore[arg-type] # none of them is null
    return total


def batches(job: Job, stream: Stream, watch: Stopwatch) -> int:
    """Read in lists; return the sum of the lengths of all values."""
    total = count = 0
    for batch in stream.batches(max_records=BATCH_RECORDS):
        if batch and not count:
            watch.first()
        for message in batch:
            total += len(message.value)  # type: ignore[arg-type] # none of them is null
        count += len(batch)
        if count >= job.records:
            return total
    return total


def arrow(job: Job, stream: Stream, watch: Stopwatch) -> int:
    """Read in Arrow record batches, whose offsets give the lengths; return the sum of lengths."""
    total = 0
    count = 0
    for batch in stream.arrow_batches():
        if not batch.num_rows:
            continue
        if not count:
            watch.first()
        values = batch.column("value")
        ends = memoryview(values.buffers()[1]).cast("i")
        total += int(ends[values.offset + len(values)] - ends[values.offset])
        count += len(values)
        if count >= job.records:
            return total
    return total


def latency(job: Job, stream: Stream) -> None:
    """Measure and report the delay of each message."""
    del job
    delays = Delays()
    say_ready()
    for message in stream:
        if not delays.take(message.value or b""):
            break
    report_delays(delays.found_ns)


WAYS: dict[str, Callable[[Job, Stream, Stopwatch], int]] = {
    "one-by-one": one_by_one,
    "batches": batches,
    "arrow": arrow,
}


def main() -> None:
    """Run the job on the command line."""
    job = Job.of_command_line()
    if job.mode == "arrow":
        load_arrow()
    began_ns = time.perf_counter_ns()
    config = ConsumerConfig(
        job.settings,
        zookeeper_connect=job.zookeeper,
        group_id=job.group,
        auto_offset_reset="largest" if job.mode == "latency" else "smallest",
        consumer_timeout_ms=30_000,
    )
    with ZookeeperConsumerConnector(config) as connector:
        [stream] = connector.create_message_streams({job.topic: 1})[job.topic]
        if job.mode == "latency":
            latency(job, stream)
            return
        watch = Stopwatch()
        total = WAYS[job.mode](job, stream, watch)
        watch.finish(
            total // job.value_bytes,
            total,
            join_ms=(watch.began_ns - began_ns) / 1e6,
            engine=str(ENGINE),
        )


if __name__ == "__main__":
    main()
