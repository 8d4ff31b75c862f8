"""Detect, when a partition's leader changes, that an unclean election cut its log back. Pure.

Streams don't know the epochs of the records that they fetched, so they compare otherwise than polls
(``core.truncation``). What was fetched from one broker was written before another one's epoch
began, and a clean election begins it behind all that consumers could fetch. So an epoch that begins
in front of the fetch offset is that of a leader that lacked some of it.
"""

from collections.abc import Mapping
from typing import NamedTuple

from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition
from zkconsumer.wire.absent import NO_BROKER, NO_EPOCH


class Doubt(NamedTuple):
    """What to ask a new leader whose log may lack some of what was read.

    Attributes:
        leader_epoch: its epoch: who leads in another one refuses to answer.
        former_epoch: the epoch whose end in its log is wanted: that is where its own begins.
    """

    leader_epoch: int
    former_epoch: int


Doubts = Mapping[TopicPartition, Doubt]


class _Led(NamedTuple):
    """The leader that a partition was last fetched from.

    Attributes:
        claim: under which it was fetched.
        broker_id: the leader; ``NO_BROKER``: not known.
        epoch: its epoch, the highest that was seen.
        topic_id: the topic's id; None: not known.
    """

    claim: PartitionClaim
    broker_id: int
    epoch: int
    topic_id: bytes | None


class LeaderEpochs:
    """Track which leaders partitions are fetched from, and in which epochs. Thread: one."""

    def __init__(self) -> None:
        self._led: dict[TopicPartition, _Led] = {}

    def note(self, claim: PartitionClaim, view: ClusterView) -> None:
        """Record that a partition is fetched from its leader in this view from now on.

        An older view names a former leader; record the leader as unknown.
        """
        tp = claim.topic_partition
        now = _Led(claim, view.leaders[tp].id, _epoch(tp, view), view.topic_ids.get(tp.topic))
        led = self._same(claim, view)
        if led is not None and NO_EPOCH < now.epoch < led.epoch:
            now = led._replace(broker_id=NO_BROKER)
        self._led[tp] = now

    def forget_inactive(self) -> None:
        """Drop partitions that were given up."""
        self._led = {tp: led for tp, led in self._led.items() if led.claim.active}

    def doubtful(self, claim: PartitionClaim, view: ClusterView) -> Doubt | None:
        """Return what to ask a partition's leader; None: its log has all that was read.

        The same leader as before has all that was fetched from it, in whatever epoch. That it lost
        the lead meanwhile and got it back is not detected.
        """
        tp = claim.topic_partition
        led, epoch = self._same(claim, view), _epoch(tp, view)
        if led is None or not NO_EPOCH < led.epoch < epoch:
            return None
        if led.broker_id in {NO_BROKER, view.leaders[tp].id}:
            return None
        return Doubt(epoch, epoch - 1)

    def _same(self, claim: PartitionClaim, view: ClusterView) -> _Led | None:
        """Return what is known of this claim's leader, unless its topic was created again since."""
        led = self._led.get(claim.topic_partition)
        if led is None or led.claim is not claim:
            return None
        topic_id = view.topic_ids.get(claim.topic_partition.topic)
        return led if topic_id is None or led.topic_id in {None, topic_id} else None


def _epoch(tp: TopicPartition, view: ClusterView) -> int:
    """Return the leader epoch to send; a broker that no longer leads refuses it.

    It is ``NO_EPOCH`` where brokers don't know all epochs (before 2.4): any leader would answer.
    """
    return view.named_epochs.get(tp, NO_EPOCH)


def is_open(end: EpochEnd | int | None) -> bool:
    """Return whether to ask again: the leader may not know yet that it leads, or did not answer."""
    return isinstance(end, int) and ErrorCode.of(end).may_pass


def cut_back_to(fetch_offset: int, end: EpochEnd | int | None) -> int:
    """Return where to go on: where the new leader's epoch begins, at most at the fetch offset.

    Args:
        fetch_offset: the next offset to fetch.
        end: where the epochs before the leader's end in its log; an error code or None if it can't
            tell: then reading goes on at the fetch offset.
    """
    if isinstance(end, EpochEnd) and 0 <= end.end_offset < fetch_offset:
        return end.end_offset
    return fetch_offset


EpochEnds = Mapping[TopicPartition, EpochEnd | int | None]
"""Where the epochs before the leader's end in its log; an error code or None: it can't tell."""
