"""Detect, when a partition's leader changes, whether an unclean election truncated its log. Pure.

Streams don't know the epochs of the records that they fetched, so they compare differently from
polls (``core.arrivals``). Records fetched from one broker were written before the next leader's
epoch began, and after a clean election that epoch begins after all that consumers could fetch. So
an epoch that begins before the fetch offset belongs to a leader that lacked some of these records.
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
    """The epoch lookup for a new leader whose log may lack some of the records that were read.

    Attributes:
        leader_epoch: the leader's epoch; a broker that leads in another epoch refuses the request.
        former_epoch: the epoch to look up: its end in the leader's log is where the leader's own
            epoch begins.
    """

    leader_epoch: int
    former_epoch: int


Doubts = Mapping[TopicPartition, Doubt]


class _Led(NamedTuple):
    """The leader that a partition was last fetched from.

    Attributes:
        claim: the claim under which it was fetched.
        broker_id: the leader; ``NO_BROKER``: not known.
        epoch: its highest epoch that was seen.
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

        If the view is older than the last one, it names a former leader: record it as unknown.
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
        """Return the epoch lookup for a partition's leader; None: its log has all that was read.

        A leader that is the same broker as before has all that was fetched from it, whatever its
        epoch. If it lost the leadership meanwhile and regained it, that is not detected.
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

    It is ``NO_EPOCH`` if brokers don't know all epochs (before 2.4): then any leader responds.
    """
    return view.named_epochs.get(tp, NO_EPOCH)


def is_open(end: EpochEnd | int | None) -> bool:
    """Return whether to retry: the leader was silent, or may not know yet that it leads."""
    return isinstance(end, int) and ErrorCode.of(end).may_retry_fetch


def truncated_to(fetch_offset: int, end: EpochEnd | int | None) -> int:
    """Return the smaller of the fetch offset and the offset at which the leader's epoch begins.

    Args:
        fetch_offset: the next offset to fetch.
        end: where the epochs before the leader's end in its log. With an error code or None, the
            leader can't report that: reading continues at the fetch offset.
    """
    if isinstance(end, EpochEnd) and 0 <= end.end_offset < fetch_offset:
        return end.end_offset
    return fetch_offset


EpochEnds = Mapping[TopicPartition, EpochEnd | int | None]
"""The end of the epochs before the leader's in its log; an error code or None: not known."""
