"""The membership of a consumer without a group: it reads all partitions of its topics.

Source: kafka-python's consumer with ``group_id=None``. Java's refuses to subscribe then.
"""

from collections.abc import Callable, Collection, Mapping

from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import IllegalState
from zkconsumer.membership.protocol import (
    CommitDone,
    Offsets,
    OwnershipHandler,
    Partitions,
    RevocationKind,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition


class NoGroup:
    """A ``Membership`` without a group.

    Args:
        handler: called when partitions come and go.
        view: returns the known metadata of the cluster.
    """

    def __init__(self, handler: OwnershipHandler, view: Callable[[], ClusterView]) -> None:
        self._handler = handler
        self._view = view
        self._topics: frozenset[str] = frozenset()
        self._owned: Partitions = frozenset()

    member_id = ""
    generation = -1
    state = "no group"

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return {}

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """See ``Membership``."""
        del open_ended
        self._topics = topics

    def poll(self) -> None:
        """See ``Membership``. Keep the partitions of a topic that is temporarily missing."""
        known = self._view().partitions
        if not self._topics and not self._owned:
            return
        wanted = {TopicPartition(topic, n) for topic in self._topics for n in known.get(topic, ())}
        gone = frozenset(tp for tp in self._owned if tp.topic not in self._topics)
        added = frozenset(wanted - self._owned)
        if gone:
            self._owned -= gone
            self._handler.give_up(gone, RevocationKind.REVOKED)
        if added:
            self._owned |= added
            self._handler.take_over(added, self._owned)

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        del timeout_ms
        self._topics = frozenset()
        owned, self._owned = self._owned, frozenset()
        if owned:
            self._handler.give_up(owned, RevocationKind.REVOKED)

    def deliverable(self) -> Partitions:
        """See ``Membership``."""
        return self._owned

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        del offsets, timeout_ms
        raise _without_group("commit")

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        del offsets, done
        raise _without_group("commit")

    def run_callbacks(self) -> None:
        """See ``Membership``: there are none."""

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> Mapping[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``."""
        del partitions, timeout_ms
        raise _without_group("look up committed offsets")

    def on_topics_changed(self, view: ClusterView) -> None:
        """See ``Membership``."""

    def rejoin(self) -> None:
        """See ``Membership``."""

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        self.unsubscribe(timeout_ms)


def _without_group(what: str) -> IllegalState:
    return IllegalState(f"can't {what} without a group: give KafkaConsumer a group_id")
