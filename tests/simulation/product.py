"""The real classes of which a simulated member is made, and how a planted fault replaces one."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from zkconsumer.connector import member, steps
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk.registry import GroupRegistry

_WIRED_IN = (member, steps)
"""The modules that name the classes which ``build_member`` puts together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """What members are made of.

    Attributes:
        registry: talks to ZooKeeper about the group.
        offsets: keeps offsets.
        queue: between fetcher and stream.
        stream: what callers iterate.
        listen: brings session events to a member, as ``session_news.listen``.
        wired: classes to be used instead of those that ``build_member`` uses, by name.
    """

    registry: type[GroupRegistry] = GroupRegistry
    offsets: type[ZookeeperOffsetStore] = ZookeeperOffsetStore
    queue: type[ChunkQueue] = ChunkQueue
    stream: type[KafkaStream[Any, Any]] = KafkaStream
    listen: Callable[..., None] | None = None
    wired: Mapping[str, object] = field(default_factory=dict)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """While this is open, ``build_member`` uses the classes of ``wired``."""
        before: list[tuple[Any, str, object]] = []
        try:
            for name, replacement in self.wired.items():
                places = [module for module in _WIRED_IN if hasattr(module, name)]
                assert places, f"nothing is named {name}"
                for module in places:
                    before.append((module, name, getattr(module, name)))
                    setattr(module, name, replacement)
            yield
        finally:
            for module, name, original in before:
                setattr(module, name, original)


PRODUCT = Product()
