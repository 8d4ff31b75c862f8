"""``python -m tests.interop.member_process TOPIC KEY=VALUE ...``: prints its history."""

import os
import sys

from tests.histories.recorder import Recorder
from tests.support.recorded import declare, recorded
from zkconsumer import ConsumerConfig, ZookeeperConsumerConnector
from zkconsumer.clock import SystemClock


def main(topic: str, *settings: str) -> None:
    """Print each delivered message of the topic in one write, until killed."""
    props = dict(setting.split("=", 1) for setting in settings)
    recorder = Recorder(SystemClock().wall_ms, lambda line: os.write(1, line))
    with ZookeeperConsumerConnector(ConsumerConfig(props)) as connector:
        member = connector.consumer_id
        declare(recorder, member, props)
        [stream] = connector.create_message_streams({topic: 1})[topic]
        for _ in recorded(stream, recorder, member, f"{member}/0"):
            pass


if __name__ == "__main__":
    main(*sys.argv[1:])
