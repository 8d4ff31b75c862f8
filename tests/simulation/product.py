"""The real classes that a simulated member is made of; planted faults put others in their places."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from zkconsumer.connector.commits import OffsetCommitter
from zkconsumer.connector.control import ControlThread
from zkconsumer.connector.ownership import OwnershipBook
from zkconsumer.connector.rebalance import RebalanceCore
from zkconsumer.connector.steps import RebalanceSteps
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk.registry import GroupRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A class for each part; ``patched`` is entered around the whole schedule."""

    core: type[RebalanceCore] = RebalanceCore
    steps: type[RebalanceSteps] = RebalanceSteps
    control: type[ControlThread] = ControlThread
    registry: type[GroupRegistry] = GroupRegistry
    book: type[OwnershipBook] = OwnershipBook
    offsets: type[ZookeeperOffsetStore] = ZookeeperOffsetStore
    committer: type[OffsetCommitter] = OffsetCommitter
    queue: type[ChunkQueue] = ChunkQueue
    stream: type[KafkaStream[Any, Any]] = KafkaStream
    patched: Callable[[], AbstractContextManager[object]] = nullcontext


PRODUCT = Product()
