"""A process that reads a partition whose record sets are refused, and prints its memory use.

``python -m tests.support.refused_probe`` with one JSON object as argument; prints another one. The
garbage collector is off: memory must be freed without it.
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
    """Skip them by ``poison.policy``; return the first delivered message's offset."""
    config = ConsumerConfig(
        None,
        zookeeper_connect=wanted["zookeeper"],
        # A new group: another process of the same group would start after the refused sets.
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
    """Keep each error, and seek past it; return the first delivered record's offset."""
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
                polled = consumer.poll(timeout_ms=TIMEOUT_MS)
            except PartitionFailed as error:
                kept.append(error)
                consumer.seek(tp, error.offset + 1)
            else:
                return [polled[tp][0].offset]


def by_range(wanted: Mapping[str, Any]) -> list[object]:
    """Read each of them as a range, keeping the errors' texts; then the valid one."""
    tp, count = TopicPartition(wanted["topic"], 0), wanted["count"]
    host, port = wanted["bootstrap"].split(":")
    client = client_of([Broker(0, host, int(port))], timeout_ms=5_000)
    reader = RangeReader(client, settings=RangeSettings(max_decompressed_bytes=wanted["bound"]))
    results: list[object] = []
    for offset in range(count + 1):
        message_range = OffsetRange(topic_partition=tp, from_offset=offset, until_offset=offset + 1)
        try:
            results += [row.offset for part in reader.read(message_range) for row in part.records()]  # type: ignore[union-attr]
        except PartitionFailed as error:
            if "decompresses to more than" not in str(error):
                raise
    client.stop()
    return results


WAYS: Mapping[str, Callable[[Mapping[str, Any]], list[object]]] = {
    "stream": by_stream,
    "poll": by_poll,
    "range": by_range,
}


def main(wanted: Mapping[str, Any]) -> None:
    """Read ``topic`` in one of these ways, and print the memory taken."""
    gc.disable()
    before = memory_bytes("VmRSS")
    result = WAYS[wanted["way"]](wanted)
    taken_bytes = memory_bytes("VmHWM") - before
    print(json.dumps({"found": result, "taken_bytes": taken_bytes}))  # noqa: T201 - its output


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
