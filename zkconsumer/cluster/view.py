"""A snapshot of the cluster as one broker described it. Pure."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from zkconsumer.error_codes import ErrorCode
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.absent import NO_EPOCH, NO_TOPIC_ID
from zkconsumer.wire.messages.metadata import MetadataResponse

_NO_CONTROLLER = -1
_FIRST_EXACT_EPOCHS = 9
"""The first version of Metadata (2.4) whose brokers know every new leader epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The leaders of partitions, and the brokers.

    Fields that old brokers don't send are empty: they came with 0.10 (``internal``,
    ``controller_id``), 2.1 (``leader_epochs``), 2.8 (``topic_ids``).

    Attributes:
        brokers: the live brokers by id.
        leaders: the leader of every partition that has one among the brokers.
        leaderless: the partitions without one, each with its error code.
        errors: the error code of every topic that has one.
        partitions: the partition ids of every topic that has some, ascending.
        leader_epochs: how often the leader changed, as far as the broker sends it.
        has_exact_epochs: whether requests may contain these, so that a leader of another epoch
            refuses them. Brokers before 2.4 don't know the epochs of a reassignment in progress:
            requests with their epochs are refused until it is over, which may take hours.
        internal: the topics that belong to the cluster itself.
        topic_ids: the id of each topic; if deleted and created again, it gets another one.
        controller_id: the controller broker; None: there is none.
    """

    brokers: Mapping[int, Broker]
    leaders: Mapping[TopicPartition, Broker]
    leaderless: Mapping[TopicPartition, int]
    errors: Mapping[str, int]
    partitions: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    leader_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    has_exact_epochs: bool = True
    internal: frozenset[str] = frozenset()
    topic_ids: Mapping[str, bytes] = field(default_factory=dict)
    controller_id: int | None = None

    @property
    def named_epochs(self) -> Mapping[TopicPartition, int]:
        """The leader epochs that requests may contain."""
        return self.leader_epochs if self.has_exact_epochs else {}


NOTHING_KNOWN = ClusterView(brokers={}, leaders={}, leaderless={}, errors={})
"""The view before any response."""


def from_metadata(response: MetadataResponse, *, version: int) -> ClusterView:
    """Convert a metadata response of this version to a view.

    A partition with error 9 (a replica is down) still has a leader. Partition ids may have
    gaps. A leader that is not among the brokers counts as none. Source: Kafka 3.9
    ``MetadataResponse.hasReliableLeaderEpochs``; Java drops unreliable epochs altogether.
    """
    brokers = {
        broker.id: Broker(broker.id, broker.host, broker.port) for broker in response.brokers
    }
    leaders: dict[TopicPartition, Broker] = {}
    leaderless: dict[TopicPartition, int] = {}
    epochs: dict[TopicPartition, int] = {}
    for topic in response.topics:
        for partition in topic.partitions:
            tp = TopicPartition(topic.topic, partition.partition)
            leader = brokers.get(partition.leader)
            if leader is None:
                leaderless[tp] = partition.error_code
            else:
                leaders[tp] = leader
            if partition.leader_epoch != NO_EPOCH:
                epochs[tp] = partition.leader_epoch
    topics = response.topics
    controller_id = response.controller_id
    return ClusterView(
        brokers=brokers,
        leaders=leaders,
        leaderless=leaderless,
        errors={
            topic.topic: topic.error_code for topic in topics if topic.error_code != ErrorCode.NONE
        },
        partitions={
            topic.topic: tuple(sorted(partition.partition for partition in topic.partitions))
            for topic in topics
            if topic.partitions
        },
        leader_epochs=epochs,
        has_exact_epochs=version >= _FIRST_EXACT_EPOCHS,
        internal=frozenset(topic.topic for topic in topics if topic.is_internal),
        topic_ids={
            topic.topic: topic.topic_id for topic in topics if topic.topic_id != NO_TOPIC_ID
        },
        controller_id=None if controller_id == _NO_CONTROLLER else controller_id,
    )


def limited_to(view: ClusterView, topics: Collection[str]) -> ClusterView:
    """Reduce a view to these topics, as if they had been requested by name.

    Topics that it lacks get the error ``UNKNOWN_TOPIC_OR_PARTITION``.
    """
    wanted = frozenset(topics)
    reported = view.partitions.keys() | view.errors.keys()
    errors = {topic: code for topic, code in view.errors.items() if topic in wanted}
    errors.update(dict.fromkeys(wanted - reported, int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)))
    return replace(
        view,
        leaders={tp: leader for tp, leader in view.leaders.items() if tp.topic in wanted},
        leaderless={tp: code for tp, code in view.leaderless.items() if tp.topic in wanted},
        errors=errors,
        partitions={topic: ids for topic, ids in view.partitions.items() if topic in wanted},
        leader_epochs={tp: epoch for tp, epoch in view.leader_epochs.items() if tp.topic in wanted},
        internal=view.internal & wanted,
        topic_ids={
            topic: topic_id for topic, topic_id in view.topic_ids.items() if topic in wanted
        },
    )


def kept_current(before: ClusterView, after: ClusterView) -> ClusterView:
    """Return the later view, without going back to older leaders (KIP-320).

    The broker may not know a new leader yet: if the partition is the same (by its topic's id)
    and its epoch is smaller than before, the earlier leader is kept.
    """
    stale = [
        tp
        for tp, epoch in after.leader_epochs.items()
        if epoch < before.leader_epochs.get(tp, NO_EPOCH)
        and tp.topic in after.topic_ids
        and after.topic_ids[tp.topic] == before.topic_ids.get(tp.topic)
    ]
    if not stale:
        return after
    leaders, leaderless = dict(after.leaders), dict(after.leaderless)
    epochs = dict(after.leader_epochs)
    for tp in stale:
        leaders.pop(tp, None)
        leaderless.pop(tp, None)
        epochs[tp] = before.leader_epochs[tp]
        leader = before.leaders.get(tp)
        # It may have another address by now, or be gone, which the next epoch will show.
        at_present = None if leader is None else after.brokers.get(leader.id)
        if at_present is None:
            leaderless[tp] = ErrorCode.LEADER_NOT_AVAILABLE
        else:
            leaders[tp] = at_present
    return replace(after, leaders=leaders, leaderless=leaderless, leader_epochs=epochs)
