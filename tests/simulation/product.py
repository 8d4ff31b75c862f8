"""The real classes that a simulated member consists of, and their replacement by planted faults."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from zkconsumer.membership.zookeeper.threads import session_events
from zkconsumer.offsets import fenced
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.queues import StreamQueue, new_chunk_queue
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk import claim, group_reader
from zkconsumer.zk.registry import GroupRegistry


@dataclass(frozen=True, slots=True)
class Swap:
    """A replacement for a name; ``place`` is the module or class that holds the name."""

    place: Any
    name: str
    replacement: object


_SMALL_TRANSACTIONS = (
    Swap(claim, "OPS_PER_MULTI", 2),
    Swap(fenced, "PARTITIONS_PER_MULTI", 2),
)
"""Limits so low that a few partitions need several transactions, as thousands do in practice."""

_PARSED_ONCE = tuple(
    Swap(group_reader, name, lru_cache(maxsize=1_000)(getattr(group_reader, name)))
    for name in ("parse_broker", "parse_registration", "parse_topic", "registration_version")
)
"""Caches for parsers, because members read the same few nodes repeatedly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """The classes that members consist of.

    Attributes:
        registry: the group's registry in ZooKeeper.
        offsets: the offset store.
        queue: the queue between fetcher and stream.
        batch_records: how many messages callers request at a time; 0: one by one.
        stream: the stream that callers iterate.
        swaps: further replacements while a schedule runs.
    """

    registry: type[GroupRegistry] = GroupRegistry
    offsets: type[ZookeeperOffsetStore] = ZookeeperOffsetStore
    queue: Callable[[int, ByteBudget | None], StreamQueue] = ChunkQueue
    batch_records: int = 0
    stream: type[KafkaStream[Any, Any]] = KafkaStream
    swaps: tuple[Swap, ...] = ()

    def varied(self, seed: int) -> "Product":
        """Return the variant for a schedule: some use the native queue, some read batches."""
        queue, batch_records = self.queue, self.batch_records
        if seed % 3 == 1 and queue is ChunkQueue:
            queue = new_chunk_queue
        if seed % 4 == 1:
            batch_records = 1 + seed % 7
        return replace(self, queue=queue, batch_records=batch_records)

    @property
    def listen(self) -> Any:
        """Return the function that passes session events to a member."""
        return session_events.listen

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Apply the swaps while this context is open."""
        swaps = (*_SMALL_TRANSACTIONS, *_PARSED_ONCE, *self.swaps)
        before = [(swap, getattr(swap.place, swap.name)) for swap in swaps]
        try:
            for swap in swaps:
                setattr(swap.place, swap.name, swap.replacement)
            yield
        finally:
            for swap, original in before:
                setattr(swap.place, swap.name, original)


PRODUCT = Product()
