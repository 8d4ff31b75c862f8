"""The real classes of which a simulated member is made, and how a planted fault replaces one."""

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
    """Another object under a name: ``place`` is the module or class that holds the name."""

    place: Any
    name: str
    replacement: object


_SMALL_TRANSACTIONS = (
    Swap(claim, "OPS_PER_MULTI", 2),
    Swap(fenced, "PARTITIONS_PER_MULTI", 2),
)
"""A few partitions take several transactions, as thousands do in real groups."""

_PARSED_ONCE = tuple(
    Swap(group_reader, name, lru_cache(maxsize=1_000)(getattr(group_reader, name)))
    for name in ("parse_broker", "parse_registration", "parse_topic", "registration_version")
)
"""Members read the same few nodes again and again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What members are made of.

    Attributes:
        registry: talks to ZooKeeper about the group.
        offsets: keeps offsets.
        queue: between fetcher and stream.
        batch_records: how many messages callers ask for at a time; 0: one by one.
        stream: what callers iterate.
        swaps: what else is replaced while a schedule runs.
    """

    registry: type[GroupRegistry] = GroupRegistry
    offsets: type[ZookeeperOffsetStore] = ZookeeperOffsetStore
    queue: Callable[[int, ByteBudget | None], StreamQueue] = ChunkQueue
    batch_records: int = 0
    stream: type[KafkaStream[Any, Any]] = KafkaStream
    swaps: tuple[Swap, ...] = ()

    def varied(self, seed: int) -> "Product":
        """What a schedule has of it: some have the engine's own queue, some read in batches."""
        queue, batch_records = self.queue, self.batch_records
        if seed % 3 == 1 and queue is ChunkQueue:
            queue = new_chunk_queue
        if seed % 4 == 1:
            batch_records = 1 + seed % 7
        return replace(self, queue=queue, batch_records=batch_records)

    @property
    def listen(self) -> Any:
        """Brings session events to a member."""
        return session_events.listen

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While this is open, the swaps are made."""
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
