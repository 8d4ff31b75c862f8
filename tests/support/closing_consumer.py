"""A process that polls until a signal comes, and closes its consumer in the handler.

``python -m tests.support.closing_consumer WAY SETTINGS``: ``SETTINGS`` are the consumer's as JSON,
with ``topics``. It writes a line ``partition offset`` for every record that it was handed, and at
the end how many threads are left.

``WAY`` is ``iterate``, ``poll``, ``exit`` (poll; the handler ends the process behind its
``close()``), or ``interrupt`` (poll; SIGINT raises KeyboardInterrupt as it does by default).
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

from zkconsumer import ConsumerRecord, KafkaConsumer


def main() -> None:
    """Consume until told to stop."""
    way, settings = sys.argv[1], json.loads(sys.argv[2])
    threads = threading.active_count()
    consumer = KafkaConsumer(*settings.pop("topics"), **settings)
    running = True

    def stop(_number: int, _frame: object) -> None:
        nonlocal running
        running = False
        consumer.close()
        if way == "exit":
            sys.stdout.flush()
            os._exit(0)

    if way != "interrupt":
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
    if way == "iterate":
        for record in consumer:
            tell([record])
    elif way == "interrupt":
        try:
            while True:
                poll(consumer)
        except KeyboardInterrupt:
            pass
        finally:
            consumer.close()
    else:
        while running:
            poll(consumer)
    sys.stdout.write(f"ended with {threading.active_count() - threads} more threads\n")


def poll(consumer: KafkaConsumer) -> None:
    """Once."""
    found: dict[Any, list[ConsumerRecord]] = consumer.poll(60_000, max_records=3)
    for records in found.values():
        tell(records)


def tell(records: Iterable[ConsumerRecord]) -> None:
    """Say what was handed out."""
    for record in records:
        sys.stdout.write(f"{record.partition} {record.offset}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
