"""Runs a member that reports when it has joined: run with ``TOPIC KEY=VALUE ...``.

Prints the wall clock in milliseconds before it creates its stream and when it has it; then reads
until its standard input ends, and leaves the group.
"""

import sys
from collections import deque

from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.stream import KafkaStream


def write(what: str) -> None:
    """Print an event with the wall clock, in milliseconds."""
    sys.stdout.write(f"{what} {SystemClock().wall_ms()}\n")
    sys.stdout.flush()


def drain(stream: KafkaStream[bytes, bytes]) -> None:
    """Read all messages, and discard them."""
    deque(stream, maxlen=0)


def main(topic: str, *settings: str) -> None:
    """Run the member until the standard input ends."""
    props = dict(setting.split("=", 1) for setting in settings)
    readers = ThreadScope("readers")
    with ZookeeperConsumerConnector(ConsumerConfig(props)) as connector:
        write("joining")
        [stream] = connector.create_message_streams({topic: 1})[topic]
        write("joined")
        readers.spawn("reader", lambda: drain(stream), stop=lambda: None)
        sys.stdin.read()
    readers.close(10_000)


if __name__ == "__main__":
    main(*sys.argv[1:])
