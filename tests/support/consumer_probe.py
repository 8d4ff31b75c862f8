"""A consumer in a separate process, to measure the CPU time and memory of a whole process.

``python -m tests.support.consumer_probe WORK`` with one JSON object (``Task``) as argument; prints
the engine and the measurements.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from typing import TypedDict

from tests.support.memory_probe import memory_bytes
from tests.support.recording_observer import RecordingObserver
from tests.support.waiting import wait_until
from zkconsumer import ConsumerConfig, ConsumerTimeout, KafkaStream, ZookeeperConsumerConnector
from zkconsumer.observe import Fetched
from zkconsumer.records.engine import ENGINE

Stream = KafkaStream[bytes, bytes]
_LOOKS = 5
"""A queue whose size is the same in this many checks has stopped growing."""


class Task(TypedDict):
    """A probe's parameters.

    Attributes:
        settings: the consumer's settings.
        topic: the topic, which is read with one stream.
        records: the number of records in the topic.
        waiting_bytes: the queue must exceed this size before the first record is read.
    """

    settings: Mapping[str, str]
    topic: str
    records: int
    waiting_bytes: int


def rest(stream: Stream, observed: RecordingObserver, task: Task) -> dict[str, float]:
    """Wait twice ``consumer.timeout.ms`` without a message; return the second wait's cost.

    One-time costs belong to the first wait.
    """
    assert task["records"] == 0
    _expect_nothing(stream)
    fetches_before = _fetches(observed)
    cpu_s, wall_s = time.process_time(), time.perf_counter()
    _expect_nothing(stream)
    return {
        "cpu_s": time.process_time() - cpu_s,
        "wall_s": time.perf_counter() - wall_s,
        "fetches": _fetches(observed) - fetches_before,
    }


def _expect_nothing(stream: Stream) -> None:
    try:
        message = next(stream)
    except ConsumerTimeout:
        return
    raise AssertionError(f"a message at {message.offset}")


def _fetches(observed: RecordingObserver) -> int:
    return sum(event.fetches for event in observed.of(Fetched))


def read_late(stream: Stream, _observed: RecordingObserver, task: Task) -> dict[str, float]:
    """Let the queue fill, and then read everything; return the process's peak memory."""
    queue = stream._waiting._queue
    snapshots: list[int] = []

    def is_full() -> bool:
        snapshots.append(queue.used_bytes())
        return (
            snapshots[-1] > task["waiting_bytes"]
            and snapshots[-_LOOKS:] == [snapshots[-1]] * _LOOKS
        )

    wait_until(is_full, what=f"a queue of {task['waiting_bytes']} bytes to grow no more")
    value_bytes = 0
    for number, message in enumerate(stream, 1):
        value_bytes += len(message.value or b"")
        if number == task["records"]:
            break
    return {
        "value_bytes": value_bytes,
        "peak_bytes": memory_bytes("VmHWM"),
    }


WORKS: Mapping[str, Callable[[Stream, RecordingObserver, Task], dict[str, float]]] = {
    "rest": rest,
    "read_late": read_late,
}


def main(work: str, task: Task) -> None:
    """Join, run the work, leave, and print the result, with the memory before joining."""
    observed = RecordingObserver()
    config = ConsumerConfig(task["settings"])
    loaded_bytes = memory_bytes("VmRSS")
    with ZookeeperConsumerConnector(config, observers=(observed,)) as connector:
        [stream] = connector.create_message_streams({task["topic"]: 1})[task["topic"]]
        reported = WORKS[work](stream, observed, task)
    sys.stdout.write(json.dumps([str(ENGINE), {**reported, "loaded_bytes": loaded_bytes}]))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
