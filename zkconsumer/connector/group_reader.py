"""Reads the group for a round of rebalancing, and in an audit what is wrong in it."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from zkconsumer.assignment.filtering import FilterRefused
from zkconsumer.assignment.filters import expand
from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.ownership import OwnedClaims
from zkconsumer.connector.sightings import Sightings
from zkconsumer.connector.subscription import StreamSubscription
from zkconsumer.model import TopicPartition
from zkconsumer.observe import Observation, OrphansSeen
from zkconsumer.zk.nodes import Malformed, Registration
from zkconsumer.zk.registry import GroupRegistry, GroupSnapshot, GroupWatches
from zkconsumer.zk.store import Watch

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReading:
    """What a look at the group needs to know."""

    consumer_id: str
    exclude_internal_topics: bool
    registry: GroupRegistry
    claims: OwnedClaims
    observation: Observation
    trigger: Callable[[ev.RebalanceCause], None]


class GroupReader:
    """Looks at the group, and leaves watches. Thread: control."""

    def __init__(self, look: GroupReading) -> None:
        self._look = look
        # Kept for life: on what does not change, a new one for each reading would pile up.
        self.watches = {cause: self._watch_for(cause) for cause in ev.RebalanceCause}
        self._sightings = Sightings(look.consumer_id)
        self._orphans: tuple[TopicPartition, ...] = ()
        self._has_read = False

    def read(self, step: ev.ReadGroup, subscription: StreamSubscription) -> ev.GroupRead:
        """Read all that a rebalance computes from.

        Raises:
            ZkConsumerError: it could not be read.
        """
        registry = self._look.registry
        snapshot = registry.read_group(
            watches=self._group_watches(subscription), expand=self._topics_of
        )
        # With a filter of our own that takes too much we are no member for ourselves: say why.
        self._expand(subscription.registration(0), snapshot.all_topics)
        view = self._view(snapshot)
        self._has_read = True
        registered = self._is_ours(snapshot, subscription)
        if registered:
            # Else our topics may be missing for no other reason.
            self._sightings.report(snapshot, subscription, view)
        if step.audit:
            self._report_orphans(view)
        return ev.GroupRead(
            round=step.round,
            view=view,
            registered=registered,
            held=registry.still_ours(step.check),
            broker_count=len(snapshot.brokers),
            stopped=self._look.claims.stopped() if step.audit else frozenset(),
            recreated=self._look.claims.of_former_topics(snapshot.topic_czxids),
        )

    def _is_ours(self, snapshot: GroupSnapshot, subscription: StreamSubscription) -> bool:
        """Return whether our registration is there and says what we wrote.

        One that an operator edited names threads that have no queue here: it counts as gone, and
        is written anew.
        """
        found = snapshot.members.get(self._look.consumer_id)
        ours = subscription.registration(0)
        return (
            found is not None
            and found.pattern is ours.pattern
            and dict(found.subscription) == dict(ours.subscription)
        )

    def _watch_for(self, cause: ev.RebalanceCause) -> Watch:
        return lambda _path, _event: self._look.trigger(cause)

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
            consumer_id: MemberSubscription(self._expand(registration, snapshot.all_topics))
            for consumer_id, registration in snapshot.members.items()
        }
        return GroupView(members=members, partitions=snapshot.topics)

    def _expand(self, registration: Registration, topics: tuple[str, ...]) -> Mapping[str, int]:
        return expand(registration, topics, exclude_internal=self._look.exclude_internal_topics)

    def _topics_of(
        self, registration: Registration, topics: tuple[str, ...]
    ) -> tuple[str, ...] | Malformed:
        """What a member reads; or why it is left out, since nobody can know that.

        What may mean something to the original's members alone keeps us from joining: to take a
        share on a guess would take from those who know better. Who is at work goes on without that
        member: to stand still would leave unread what others leave behind.
        """
        try:
            return tuple(self._expand(registration, topics))
        except FilterRefused as refused:
            if not refused.is_unusable and not self._has_read:
                raise
            return Malformed(str(refused))

    def _report_orphans(self, view: GroupView) -> None:
        """Say which partitions have no owner, where that is news.

        Those that fall to us are taken in this round. Those of others are theirs to take: they
        say that a member is in trouble.
        """
        owned = self._look.registry.owned_partitions(list(view.partitions))
        orphans = tuple(
            TopicPartition(topic, number)
            for topic, numbers in sorted(view.partitions.items())
            for number in numbers
            if number not in owned[topic]
        )
        if orphans != self._orphans:
            self._orphans = orphans
            self._look.observation.report(OrphansSeen(orphans))
