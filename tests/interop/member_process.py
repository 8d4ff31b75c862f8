"""``python -m tests.interop.member_process TOPIC KEY=VALUE ...``: a member that prints values."""

import sys

from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector


def main(topic: str, *settings: str) -> None:
    """Print the values of the topic's messages until killed."""
    props = dict(one.split("=", 1) for one in settings)
    with ZookeeperConsumerConnector(ConsumerConfig(props)) as connector:
        [stream] = connector.create_message_streams({topic: 1})[topic]
        for message in stream:
            sys.stdout.write(f"{(message.value or b'').decode()}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
