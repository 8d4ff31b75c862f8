"""A process that consumes until SIGTERM, and shuts down within the signal handler.

``python -m tests.support.signalled_consumer CONNECT GROUP TOPIC`` prints a line for every message,
and at the end the number of threads left.
"""

import signal
import sys
import threading

from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector


def main() -> None:
    """Consume until told to stop."""
    connect, group, topic = sys.argv[1:4]
    threads = threading.active_count()
    config = ConsumerConfig(
        zookeeper_connect=connect,
        group_id=group,
        auto_offset_reset="smallest",
        zookeeper_session_timeout_ms=4000,
    )
    connector = ZookeeperConsumerConnector(config)

    def stop(_number: int, _frame: object) -> None:
        connector.shutdown()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    [stream] = connector.create_message_streams({topic: 1})[topic]
    for message in stream:
        sys.stdout.write(f"{message.offset}\n")
        sys.stdout.flush()
    sys.stdout.write(f"ended with {threading.active_count() - threads} more threads\n")


if __name__ == "__main__":
    main()
