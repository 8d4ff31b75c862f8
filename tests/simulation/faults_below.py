"""Planted faults below the rebalance: registry, offsets, claims, session events and streams."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.simulation.product import Product, Swap
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.membership.zookeeper import assembly
from zkconsumer.membership.zookeeper.threads import commits
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.offsets import zookeeper
from zkconsumer.offsets.fenced import FencedCommit
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk import owners
from zkconsumer.zk.claim import ClaimAttempt
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import DeleteOp, Op


class KeepsHalfAClaim(ClaimAttempt):
    """An attempt that keeps the nodes that a refused claim created."""

    def _roll_back(self) -> None:
        self.created.clear()
        self.replaced.clear()


class TakesForeignNodes(ClaimAttempt):
    """An attempt that overwrites a node that somebody else created."""

    def _is_foreign(self, node: object) -> bool:
        del node
        return False


class DeletesBlindly(GroupRegistry):
    """A registry that deletes owner nodes without reading them, as the original does."""

    def release(self, owned: Mapping[TopicPartition, ConsumerThreadId]) -> None:
        """See ``GroupRegistry``."""
        ops = [DeleteOp(self.owner_path(tp)) for tp in owned]
        self._store.write_many(ops, session_id=self.session_id)


class ReleasesHalf(GroupRegistry):
    """A registry that leaves one owner node of several."""

    def release(self, owned: Mapping[TopicPartition, ConsumerThreadId]) -> None:
        """See ``GroupRegistry``."""
        super().release(dict(list(owned.items())[: max(1, len(owned) - 1)]))


class CommitsUnfenced(ZookeeperOffsetStore):
    """A store that writes offsets without checking the partition's owner."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **{**more, "guard": None})


class ChecksNoOwner(FencedCommit):
    """A commit that reads the owner node but does not check it in its transaction."""

    def _ops(self, tp: TopicPartition) -> list[Op]:
        return [self._write_op(tp)]


class DropsWhatDoesNotFit(ChunkQueue):
    """A queue that loses chunks that arrive while it is full."""

    def offer(self, chunk: Chunk, on_capacity: Callable[[], None]) -> bool:
        """See ``ChunkSink``."""
        super().offer(chunk, on_capacity)
        return True


class ConsumesInHand(KafkaStream[Any, Any]):
    """A stream that counts a message as consumed on delivery."""

    def __init__(self, queue: ChunkQueue, **more: Any) -> None:
        if more["delivery"] is Delivery.AT_LEAST_ONCE:
            more["delivery"] = Delivery.SCALA
        super().__init__(queue, **more)


class IgnoresTheGate(KafkaStream[Any, Any]):
    """A stream that delivers messages however long ZooKeeper has been silent."""

    def __init__(self, queue: ChunkQueue, **more: Any) -> None:
        super().__init__(queue, **{**more, "gate": DeliveryGate(more["clock"], 2**60)})


def ignore_responses(*_args: object) -> None:
    """Count only a closed connection as silence."""


class CommitsAheadNever(KafkaStream[Any, Any]):
    """A stream that delivers at most once but does not commit before delivery."""

    def __init__(self, queue: ChunkQueue, **more: Any) -> None:
        super().__init__(queue, **{**more, "commit_ahead": lambda _claim, _offset: True})


class DeliversAfterTheEnd(OwnedClaims):
    """Claims that stay deliverable after the session until the control thread has time."""

    def fence(self, session_id: int) -> None:
        """See ``OwnedClaims``."""


class ResumesBehindTheStore(OwnedClaims):
    """Claims that resume at their own position, whatever others committed since."""

    def open(self, tp: TopicPartition, *args: Any) -> PartitionClaim:
        """See ``OwnedClaims``."""
        positions = self.__dict__.setdefault("positions", {})
        claim = super().open(tp, *args)
        last = positions.get(tp)
        if last is not None and last.consumed_offset is not None:
            claim.consumed_offset = last.consumed_offset
        positions[tp] = claim
        return claim


class KeepsWhatLeft(OwnedClaims):
    """Claims that keep released partitions in a caller's commit."""

    def released(self, partitions: Any) -> None:
        """See ``OwnedClaims``."""


def always_delivered_offset(claim: PartitionClaim) -> int | None:
    """Return the delivered offset even when a higher one is committed."""
    offset = claim.consumed_offset if claim.delivered_offset is None else claim.delivered_offset
    return None if offset == claim.committed_offset else offset


def one_too_far(claim: PartitionClaim) -> int | None:
    """Return the offset behind the next one to read."""
    offset = commits.delivered_offset(claim)
    return None if offset is None else offset + 1


class BrokenRules:
    """Replaces ``CommitRules`` with some rules broken, whatever the delivery mode."""

    def __init__(self, **broken: commits.OffsetOf) -> None:
        self._broken = broken

    def of(self, delivery: Delivery) -> commits.CommitRules:
        """See ``CommitRules``."""
        return replace(commits.CommitRules.of(delivery), **self._broken)


_OWN: Sequence[tuple[str, type[OwnedClaims]]] = [
    (claims.__name__, claims)
    for claims in (DeliversAfterTheEnd, ResumesBehindTheStore, KeepsWhatLeft)
]
FAULTS_BELOW: dict[str, Product] = {
    "KeepsHalfAClaim": Product(swaps=(Swap(owners, "ClaimAttempt", KeepsHalfAClaim),)),
    "TakesForeignNodes": Product(swaps=(Swap(owners, "ClaimAttempt", TakesForeignNodes),)),
    "DeletesBlindly": Product(registry=DeletesBlindly),
    "ReleasesHalf": Product(registry=ReleasesHalf),
    "CommitsUnfenced": Product(offsets=CommitsUnfenced),
    "ChecksNoOwner": Product(swaps=(Swap(zookeeper, "FencedCommit", ChecksNoOwner),)),
    "DropsWhatDoesNotFit": Product(queue=DropsWhatDoesNotFit),
    "ConsumesInHand": Product(stream=ConsumesInHand),
    "IgnoresTheGate": Product(stream=IgnoresTheGate),
    "HearsNoAnswers": Product(swaps=(Swap(DeliveryGate, "received", ignore_responses),)),
    "CommitsAheadNever": Product(stream=CommitsAheadNever),
    "CommitsBelowWhatIsCommitted": Product(
        swaps=(Swap(assembly, "CommitRules", BrokenRules(callers=always_delivered_offset)),)
    ),
    "CommitsWhatIsInHand": Product(
        swaps=(Swap(assembly, "CommitRules", BrokenRules(automatic=commits.delivered_offset)),)
    ),
    "CommitsOneTooFar": Product(
        swaps=(Swap(assembly, "CommitRules", BrokenRules(callers=one_too_far)),)
    ),
    **{name: Product(swaps=(Swap(assembly, "OwnedClaims", claims),)) for name, claims in _OWN},
}
