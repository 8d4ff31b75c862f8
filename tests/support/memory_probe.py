"""A process that fetches for streams without readers, then reads them, and prints its memory.

``python -m tests.support.memory_probe`` with one JSON object as argument; prints another one.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.plain_connections import plain_client, plain_dialer
from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.leader_finder import LeaderFinder, LeaderLookup
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue

_TIMEOUT_S = 60


def memory_bytes(name: str) -> int:
    """Return this process's ``VmRSS``, or ``VmHWM`` (its peak), bytes."""
    status = Path("/proc/self/status").read_text()
    matched = re.search(rf"^{name}:\s+(\d+) kB", status, re.MULTILINE)
    assert matched is not None
    return int(matched[1]) * 1024


def fetching(broker: Broker, settings: FetchSettings, scope: ThreadScope) -> LeaderFinder:
    """Return a leader finder for a cluster of one broker."""
    dialer = plain_dialer(TcpConnector())
    access = LeaderLookup(
        list_brokers=lambda: [broker], read_metadata=plain_client(dialer).view_by, dial=dialer.dial
    )
    return LeaderFinder(access=access, settings=settings, scope=scope, clock=SystemClock())


def records_in(queue: StreamQueue) -> int:
    """Return the number of queued records; 0 for a native queue, which has no such count."""
    if not isinstance(queue, ChunkQueue):
        return 0
    return sum(len(item.records) for item in queue._store.named_items() if isinstance(item, Chunk))


def read_all(queue: StreamQueue, count: int) -> int:
    """Take chunks as a stream does until ``count`` records came; return their values' bytes."""
    seen = size_bytes = 0
    while seen < count:
        chunk = queue.head(_TIMEOUT_S * 1_000)
        assert isinstance(chunk, Chunk), f"only {seen} of {count} came"
        queue.remove()
        seen += len(chunk.records)
        size_bytes += sum(len(record.value or b"") for record in chunk.records)
        chunk.records = ()
        queue.release(chunk)
    return size_bytes


def main(wanted: Mapping[str, int]) -> None:
    """Fetch ``partitions`` partitions of topic t for ``streams`` streams; ``is_native``: in C."""
    budget = ByteBudget(wanted["budget_bytes"])
    make = new_chunk_queue if wanted.get("is_native") else ChunkQueue
    queues: list[StreamQueue] = [make(10_000, budget) for _ in range(wanted["streams"])]
    claims = [
        PartitionClaim(TopicPartition("t", number), queues[number % len(queues)], 0)
        for number in range(wanted["partitions"])
    ]
    settings = FetchSettings(
        max_partition_bytes=wanted["fetch_bytes"],
        max_bytes=wanted["max_bytes"],
        reset=LogEdge.EARLIEST,
        max_wait_ms=20,
    )
    scope = ThreadScope("probe")
    before = memory_bytes("VmRSS")
    fetching(Broker(0, "127.0.0.1", wanted["port"]), settings, scope).add(
        [(claim, 0) for claim in claims]
    )
    wait_until(
        lambda: (
            all(queue.free_bytes(lambda: None) == 0 for queue in queues)
            or sum(map(records_in, queues)) == wanted["records"]
        ),
        timeout_s=_TIMEOUT_S,
        what="every queue to be full",
    )
    standing = sum(queue.used_bytes() for queue in queues)
    count = wanted["records"] // len(queues)
    size_bytes = sum(read_all(queue, count) for queue in queues)
    peak = memory_bytes("VmHWM") - before
    left = sum(queue.used_bytes() for queue in queues)
    assert scope.close(5_000) == []
    reported = {
        "peak_bytes": peak,
        "standing_bytes": standing,
        "value_bytes": size_bytes,
        "left": left,
    }
    sys.stdout.write(json.dumps(reported))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
