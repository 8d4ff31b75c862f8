"""A process that reads a partition whose sets are refused, and tells how much memory it took.

``python -m tests.support.refused_probe`` with one JSON object as argument; prints another one. The
garbage collector is off: what is let go of must be gone without it.
"""

import gc
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.memory_probe import memory_bytes
from tests.support.ranges import client_of
from zkconsumer import ConsumerConfig, KafkaConsumer, PartitionFailed, ZookeeperConsumerConnector
from zkconsumer.fetch.range_reader import RangeReader
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import Broker, OffsetRange, TopicPartition

TIMEOUT_MS = 60_000


def by_stream(wanted: Mapping[str, Any]) -> list[object]:
    """Pass over them by ``poison.policy``; gives the offset of the first message that comes."""
    config = ConsumerConfig(
        None,
        zookeeper_connect=wanted["zookeeper"],
        # Of its own: another process of the same group would begin behind what is refused.
        group_id=f"{wanted['topic']}-{os.getpid()}",
        auto_offset_reset="smallest",
        poison_policy="skip",
        fetch_max_decompressed_bytes=wanted["bound"],
        consumer_timeout_ms=TIMEOUT_MS,
    )
    connector = ZookeeperConsumerConnector(config)
    try:
        [stream] = connector.create_message_streams({wanted["topic"]: 1})[wanted["topic"]]
        return [next(iter(stream)).offset]
    finally:
        connector.shutdown()


def by_poll(wanted: Mapping[str, Any]) -> list[object]:
    """Keep each error, and seek behind it; gives the offset of the first record that comes."""
    tp = TopicPartition(wanted["topic"], 0)
    kept: list[PartitionFailed] = []
    bound = wanted["bound"]
    with KafkaConsumer(
        bootstrap_servers=wanted["bootstrap"], fetch_max_decompressed_bytes=bound
    ) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 0)
        while True:
            try:
                found = consumer.poll(timeout_ms=TIMEOUT_MS)
            except PartitionFailed as error:
                kept.append(error)
                consumer.seek(tp, error.offset + 1)
            else:
                return [found[tp][0].offset]


def by_range(wanted: Mapping[str, Any]) -> list[object]:
    """Read each of them as a range of its own, keeping the errors' texts; then the sound one."""
    tp, count = TopicPartition(wanted["topic"], 0), wanted["count"]
    host, port = wanted["bootstrap"].split(":")
    client = client_of([Broker(0, host, int(port))], timeout_ms=5_000)
    reader = RangeReader(client, settings=RangeSettings(max_decompressed_bytes=wanted["bound"]))
    found: list[object] = []
    for offset in range(count + 1):
        one = OffsetRange(topic_partition=tp, from_offset=offset, until_offset=offset + 1)
        try:
            found += [row.offset for part in reader.read(one) for row in part.records()]  # type: ignore[union-attr]
        except PartitionFailed as error:
            if "decompresses to more than" not in str(error):
                raise
    client.stop()
    return found


WAYS: Mapping[str, Callable[[Mapping[str, Any]], list[object]]] = {
    "stream": by_stream,
    "poll": by_poll,
    "range": by_range,
}


def main(wanted: Mapping[str, Any]) -> None:
    """Read ``topic`` in one of the ways."""
    gc.disable()
    before = memory_bytes("VmRSS")
    found = WAYS[wanted["way"]](wanted)
    taken_bytes = memory_bytes("VmHWM") - before
    print(json.dumps({"found": found, "taken_bytes": taken_bytes}))  # noqa: T201 - its answer


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
