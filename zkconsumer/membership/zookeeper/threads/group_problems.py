"""Logs each problem of the group once: unreadable nodes of others, missing topics.

Every rebalance reads the whole group, so a problem is logged when it appears, not at each read.
"""

import logging
from typing import Final

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.threads.subscription import StreamSubscription
from zkconsumer.zk.group_values import GroupSnapshot

log = logging.getLogger(__name__)

_SHOWN: Final = 200
_MOST_LINES: Final = 20
"""Limit of log lines for one read: other members decide how many problems there are."""


class GroupProblems:
    """Logs problems of the group. Thread: control."""

    def __init__(self, consumer_id: str) -> None:
        self._consumer_id = consumer_id
        self._seen: frozenset[str] = frozenset()

    def report(
        self, snapshot: GroupSnapshot, subscription: StreamSubscription, view: GroupView
    ) -> None:
        """Log the problems of this read that are new."""
        problems = [
            *(
                f"member {member}: its registration can't be read, so it gets no partitions: "
                f"{reason}"
                for member, reason in snapshot.malformed_members.items()
            ),
            *(
                f"broker {broker}: its registration can't be read and is not used: {reason}"
                for broker, reason in snapshot.malformed_brokers.items()
            ),
            *(
                f"topic {topic}: its node can't be read, so none of its partitions is read: "
                f"{reason}"
                for topic, reason in snapshot.malformed_topics.items()
            ),
            *(
                f"member {member}: Scala members of this group fail on its registration: {reason}"
                for member, reason in snapshot.unreadable_by_scala.items()
            ),
            *_missing_topics(snapshot, subscription, view),
        ]
        if not snapshot.brokers:
            problems.append(
                "no broker is registered in ZooKeeper: waiting for one; is the chroot of "
                "zookeeper.connect that of the brokers?"
            )
        mine = view.members.get(self._consumer_id)
        if subscription.wildcard and mine is not None and not mine:
            problems.append(_idle_filter(snapshot, subscription))
        new = [text for text in problems if text not in self._seen]
        for text in new[:_MOST_LINES]:
            log.warning("%s: %s", self._consumer_id, text)
        if len(new) > _MOST_LINES:
            log.warning("%s: ... and %s more problems", self._consumer_id, len(new) - _MOST_LINES)
        self._seen = frozenset(problems)


def _missing_topics(
    snapshot: GroupSnapshot, subscription: StreamSubscription, view: GroupView
) -> list[str]:
    malformed = snapshot.malformed_topics
    return [
        f"topic {topic} does not exist or has no partitions; it is read as soon as it has some"
        for topic in subscription.static_topics
        if not view.partitions.get(topic) and topic not in malformed
    ]


def _idle_filter(snapshot: GroupSnapshot, subscription: StreamSubscription) -> str:
    registration = subscription.registration(0)
    text = next(iter(registration.subscription))
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return (
        f"the {registration.pattern.value} filter {shown!r} allows "
        f"none of the {len(snapshot.all_topics)} topics; a new one that it allows will be read"
    )
