"""Reads the group for a round of rebalancing; in an audit, also partitions without an owner."""

import logging
from collections.abc import Mapping

from zkconsumer.assignment.filtering import FilterBudget, FilterRefused
from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.group_problems import GroupProblems
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.model import TopicPartition
from zkconsumer.observe import OrphansSeen
from zkconsumer.zk.group_values import GroupSnapshot, GroupWatches
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import Registration
from zkconsumer.zk.store import Watch

log = logging.getLogger(__name__)


class GroupReader:
    """Reads the group and sets its watches. Thread: control."""

    def __init__(self, settings: MemberSettings, world: MemberWorld, claims: OwnedClaims) -> None:
        self._settings = settings
        self._world = world
        self._claims = claims
        # One watch per cause, kept: a new one at each read would pile up on unchanging nodes.
        self.watches = {cause: self._watch_for(cause) for cause in ev.RebalanceCause}
        self._problems = GroupProblems(settings.consumer_id)
        self._orphans: tuple[TopicPartition, ...] = ()
        self._has_read = False
        self._budget = FilterBudget()

    def read(self, step: ev.ReadGroup, subscription: StreamSubscription) -> ev.GroupRead:
        """Read everything that a rebalance is computed from.

        Raises:
            ZkConsumerError: ZooKeeper could not be read.
        """
        registry = self._world.registry
        self._budget = FilterBudget()
        snapshot = registry.read_group(
            watches=self._group_watches(subscription),
            expand=self._topics_of,
            own_topics=subscription.static_topics,
        )
        # If our own filter exceeds the budget, we would be left out as malformed: raise its reason.
        ours = subscription.registration(0)
        self._expand(ours, snapshot.all_topics)
        view = self._view(snapshot)
        self._has_read = True
        registered = self._is_ours(snapshot, ours)
        if registered:
            # Without our registration, our topics may be missing just because of that.
            self._problems.report(snapshot, subscription, view)
        if step.audit:
            self._report_orphans(view)
        return ev.GroupRead(
            round=step.round,
            view=view,
            registered=registered,
            held=registry.still_ours(step.check),
            broker_count=len(snapshot.brokers),
            stopped=self._claims.stopped() if step.audit else frozenset(),
            recreated=self._claims.of_former_topics(snapshot.topic_czxids),
        )

    def _is_ours(self, snapshot: GroupSnapshot, ours: Registration) -> bool:
        """Return whether our registration is there and holds what we wrote.

        A registration that an operator edited names threads without a queue here: it counts as gone
        and is written again.
        """
        registration = snapshot.members.get(self._settings.consumer_id)
        return (
            registration is not None
            and registration.pattern is ours.pattern
            and dict(registration.subscription) == dict(ours.subscription)
        )

    def _watch_for(self, cause: ev.RebalanceCause) -> Watch:
        return lambda _path, _event: self._world.trigger(cause)

    def _group_watches(self, subscription: StreamSubscription) -> GroupWatches:
        return GroupWatches(
            members=self.watches[ev.RebalanceCause.MEMBERS],
            topics=self.watches[ev.RebalanceCause.TOPICS],
            topic_list=self.watches[ev.RebalanceCause.TOPIC_LIST]
            if subscription.wildcard
            else None,
            brokers=self.watches[ev.RebalanceCause.BROKERS],
        )

    def _view(self, snapshot: GroupSnapshot) -> GroupView:
        members = {
            consumer_id: self._expand(registration, snapshot.all_topics)
            for consumer_id, registration in snapshot.members.items()
        }
        return GroupView(members=members, partitions=snapshot.topics)

    def _expand(self, registration: Registration, topics: tuple[str, ...]) -> Mapping[str, int]:
        return expand(
            registration,
            topics,
            exclude_internal=self._settings.exclude_internal_topics,
            budget=self._budget,
        )

    def _topics_of(
        self, registration: Registration, topics: tuple[str, ...]
    ) -> tuple[str, ...] | Malformed:
        """Return the topics a member reads, or ``Malformed`` if that can't be known.

        A pattern that only the original's members may understand keeps us from joining: a share
        based on a guess would be taken from them. A member that is already running goes on without
        the other one: if it stopped, the partitions of departed members would stay unread.
        """
        try:
            return tuple(self._expand(registration, topics))
        except FilterRefused as refused:
            if not refused.is_unusable and not self._has_read:
                raise
            return Malformed(str(refused))

    def _report_orphans(self, view: GroupView) -> None:
        """Report the partitions without an owner, if they changed.

        Our share of them is claimed in this round. The others are for other members to claim: they
        show that a member is in trouble.
        """
        partitions = {topic: numbers for topic, numbers in view.partitions.items() if numbers}
        owned = self._world.registry.owned_partitions(list(partitions))
        orphans = tuple(
            TopicPartition(topic, number)
            for topic, numbers in sorted(partitions.items())
            for number in numbers
            if number not in owned[topic]
        )
        if orphans != self._orphans:
            self._orphans = orphans
            self._world.observation.report(OrphansSeen(orphans))
