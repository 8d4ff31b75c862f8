"""A process that polls until a signal comes, and closes its consumer in the handler.

``python -m tests.support.closing_consumer WAY SETTINGS``: ``SETTINGS`` are the consumer's as JSON,
with ``topics``. It prints a line ``partition offset`` for every record delivered, and at the end
the number of additional threads.

``WAY`` is ``iterate``, ``poll``, ``exit`` (poll; the handler ends the process after its
``close()``), or ``interrupt`` (poll; SIGINT raises KeyboardInterrupt as it does by default).
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any

from zkconsumer import ConsumerRecord, KafkaConsumer
from zkconsumer.errors import ConsumerClosed


def main() -> None:
    """Consume until told to stop."""
    way, settings = sys.argv[1], json.loads(sys.argv[2])
    threads = threading.active_count()
    consumer = KafkaConsumer(*settings.pop("topics"), **settings)
    WAYS[way](consumer)
    sys.stdout.write(f"ended with {threading.active_count() - threads} more threads\n")


def close_on_signals(consumer: KafkaConsumer, then: Callable[[], object]) -> None:
    """Install signal handlers that close the consumer, and then call ``then``."""

    def stop(_number: int, _frame: object) -> None:
        consumer.close()
        then()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)


def iterate(consumer: KafkaConsumer) -> None:
    """Iterate over the consumer; the handler's ``close`` ends the loop."""
    close_on_signals(consumer, lambda: None)
    for record in consumer:
        process([record])


def poll_while_running(consumer: KafkaConsumer) -> None:
    """Poll until the handler has set a flag; it may run between the look at that and the poll."""
    stopped: list[bool] = []
    close_on_signals(consumer, lambda: stopped.append(True))
    while not stopped:
        try:
            poll(consumer)
        except ConsumerClosed:
            assert stopped


def poll_and_exit(consumer: KafkaConsumer) -> None:
    """Poll for ever; the handler ends the process."""

    def leave() -> None:
        sys.stdout.flush()
        os._exit(0)

    close_on_signals(consumer, leave)
    while True:
        poll(consumer)


def poll_until_interrupted(consumer: KafkaConsumer) -> None:
    """Poll until Ctrl-C raises KeyboardInterrupt, as it does without a handler."""
    try:
        while True:
            poll(consumer)
    except KeyboardInterrupt:
        pass
    finally:
        consumer.close()


WAYS = {
    "iterate": iterate,
    "poll": poll_while_running,
    "exit": poll_and_exit,
    "interrupt": poll_until_interrupted,
}


def poll(consumer: KafkaConsumer) -> None:
    """Poll once, and print the records."""
    polled: dict[Any, list[ConsumerRecord]] = consumer.poll(60_000, max_records=3)
    for records in polled.values():
        process(records)


def process(records: Iterable[ConsumerRecord]) -> None:
    """Print the records delivered, and spend a millisecond on each."""
    work = threading.Event()
    for record in records:
        sys.stdout.write(f"{record.partition} {record.offset}\n")
        sys.stdout.flush()
        work.wait(0.001)


if __name__ == "__main__":
    main()
