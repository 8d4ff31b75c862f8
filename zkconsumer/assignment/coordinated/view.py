"""The input of the assignors of coordinator groups."""

from collections.abc import Mapping
from dataclasses import dataclass

from zkconsumer.model import TopicPartition, utf16_key

NO_GENERATION = -1
"""The generation of a member that did not send one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """The data that one member sent when it joined.

    Attributes:
        topics: the topics it reads, with patterns already expanded.
        owned: the partitions it claims to own: still being read (cooperative), or read before it
            joined (sticky). Not to be trusted: some may not exist, or have other owners.
        generation: the generation in which it got them; ``NO_GENERATION`` if it did not send one.
        instance_id: ``group.instance.id`` of a static member.
    """

    topics: frozenset[str]
    owned: frozenset[TopicPartition] = frozenset()
    generation: int = NO_GENERATION
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class CoordinatedView:
    """A whole group as its leader sees it.

    Attributes:
        members: the members, by member id.
        partitions: partition numbers, in any order, of every topic that a member reads; a topic
            that is missing here has none.
    """

    members: Mapping[str, MemberView]
    partitions: Mapping[str, tuple[int, ...]]

    def ordered_members(self) -> list[str]:
        """Return the member ids in the order of assignment.

        Static members come first, by instance id, so that a restart, which changes the member id,
        does not change the order; then the others, by member id. Both compare UTF-16 code units.

        Source: Kafka ``AbstractPartitionAssignor.MemberInfo.compareTo``.
        """
        return sorted(self.members, key=self._rank)

    def _rank(self, member_id: str) -> tuple[bool, bytes]:
        instance_id = self.members[member_id].instance_id
        if instance_id is None:
            return True, utf16_key(member_id)
        return False, utf16_key(instance_id)

    def readers(self) -> dict[str, tuple[str, ...]]:
        """Return the members that read each topic with partitions, in the order of assignment."""
        readers: dict[str, list[str]] = {}
        for member_id in self.ordered_members():
            for topic in self.members[member_id].topics:
                readers.setdefault(topic, []).append(member_id)
        return {
            topic: tuple(readers[topic])
            for topic in sorted(readers, key=utf16_key)
            if self.partitions.get(topic)
        }

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return a topic's partitions, sorted by number."""
        return [
            TopicPartition(topic, partition) for partition in sorted(self.partitions.get(topic, ()))
        ]
