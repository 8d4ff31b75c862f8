"""The sticky assignor: as even as the subscriptions allow, then with as few moves as possible.

An assignment is even if no partition could move from its reader to another subscriber that has at
least two fewer (KIP-54). There are four steps:

1. Every member keeps the partitions that it had.
2. Partitions without an owner go to the members that have the fewest, topics with few readers
   first.
3. Partitions move from members with the most to those with the fewest, until the assignment is
   even: first those that the giver did not have before, preferably to their previous owner.
4. Partitions that left their previous owners needlessly go back, some of them in exchange.

If all members read the same topics, the first three steps already move the minimum. Otherwise the
problem is hard, and the result is a good approximation.

Source: KIP-54 and the guarantees of Kafka's ``AbstractStickyAssignor``; the algorithm is our own.
"""

from bisect import bisect_left, insort
from heapq import heapify, heapreplace

from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition, utf16_key


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Return each member's partitions, sorted, including members without any."""
    assignment = _Assignment(view)
    assignment.keep()
    assignment.deliver()
    assignment.level()
    while assignment.move_back():
        assignment.level()
    return assignment.shares()


def rightful_owners(view: CoordinatedView) -> dict[TopicPartition, str]:
    """Return the previous owner of each partition, according to the members' claims.

    If several members claim a partition, the one of the latest generation is its owner, or else the
    first in the order of assignment. A claim to a topic that the member no longer reads is ignored.
    """
    owners: dict[TopicPartition, str] = {}
    exists = {tp for topic in view.readers() for tp in view.partitions_of(topic)}
    for member_id in view.ordered_members():
        member = view.members[member_id]
        for tp in member.owned & exists:
            holder = owners.get(tp)
            newer = holder is None or view.members[holder].generation < member.generation
            if tp.topic in member.topics and newer:
                owners[tp] = member_id
    return owners


class _MemberPartitions:
    """The partitions assigned to one member: its previous ones by topic, and all others."""

    def __init__(self) -> None:
        self.own: dict[str, list[TopicPartition]] = {}
        self.foreign: set[TopicPartition] = set()
        self.count = 0

    def topics(self) -> set[str]:
        return {tp.topic for tp in self.foreign} | self.own.keys()

    def take(self, tp: TopicPartition, *, own: bool) -> None:
        self.count += 1
        if own:
            insort(self.own.setdefault(tp.topic, []), tp)
        else:
            self.foreign.add(tp)

    def give(self, tp: TopicPartition) -> None:
        self.count -= 1
        if tp in self.foreign:
            self.foreign.remove(tp)
            return
        of_topic = self.own[tp.topic]
        del of_topic[bisect_left(of_topic, tp)]
        if not of_topic:
            del self.own[tp.topic]

    def all(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted(self.foreign.union(*self.own.values())))


class _Assignment:
    """One assignment under construction."""

    def __init__(self, view: CoordinatedView) -> None:
        self._view = view
        self._readers = view.readers()
        self._rank = {member: rank for rank, member in enumerate(view.ordered_members())}
        self._previous_owner = rightful_owners(view)
        self._holder: dict[TopicPartition, str] = {}
        self._holdings = {member_id: _MemberPartitions() for member_id in self._rank}

    def shares(self) -> dict[str, tuple[TopicPartition, ...]]:
        return {member_id: held.all() for member_id, held in self._holdings.items()}

    # --- the steps ----------------------------------------------------------------------

    def keep(self) -> None:
        for tp, member_id in self._previous_owner.items():
            self._take(member_id, tp)

    def deliver(self) -> None:
        topics = sorted(
            self._readers,
            key=lambda topic: (len(self._readers[topic]), utf16_key(topic)),
        )
        for topic in topics:
            emptiest = [self._fullness(member_id) for member_id in self._readers[topic]]
            heapify(emptiest)
            for tp in self._view.partitions_of(topic):
                if tp not in self._previous_owner:
                    member_id = emptiest[0][2]
                    self._take(member_id, tp)
                    heapreplace(emptiest, self._fullness(member_id))

    def level(self) -> None:
        """Move partitions from the fullest members to the emptiest, until the assignment is even.

        Each move lowers the sum of the squared counts, so this ends. A member that could give
        nothing may be able to after other moves, so all are tried again.
        """
        gave = True
        while gave:
            fullest_first = sorted(
                self._rank, key=lambda member_id: (-self._holdings[member_id].count, member_id)
            )
            gave = sum(self._level_from(giver) for giver in fullest_first) > 0

    def move_back(self) -> bool:
        """Undo moves that are not needed for evenness; return whether there were any.

        Each returns one more partition to its previous owner, without raising the sum of the
        squared counts. It can make other members uneven, since readers of their topics may have
        more than before.
        """
        moved = [tp for tp, home in self._previous_owner.items() if self._holder[tp] != home]
        return sum(self._move_back(tp) for tp in sorted(moved)) > 0

    # --- helpers of the steps -----------------------------------------------------------

    def _fullness(self, member_id: str) -> tuple[int, int, str]:
        return self._holdings[member_id].count, self._rank[member_id], member_id

    def _level_from(self, giver: str) -> bool:
        """Move partitions of a member until no taker has two fewer; return whether any moved."""
        gave = False
        held = self._holdings[giver]
        while held.count >= 2:
            # Most topics of a group have the same readers: try each set of them once.
            readers = {self._readers[topic] for topic in held.topics()}
            count, _, taker = min(
                self._fullness(member_id) for of_set in readers for member_id in of_set
            )
            if count + 2 > held.count:
                break
            self._move(self._gift(held, taker), taker)
            gave = True
        return gave

    def _gift(self, held: _MemberPartitions, taker: str) -> TopicPartition:
        """Return the partition to move: the taker's before, else not the giver's, else the giver's.

        Of the giver's own, it is one of the topic of which the giver has the most.
        """
        topics = self._view.members[taker].topics
        foreign = [tp for tp in held.foreign if tp.topic in topics]
        if foreign:
            return min(foreign, key=lambda tp: (self._previous_owner.get(tp) != taker, tp))
        own = [of_topic for topic, of_topic in held.own.items() if topic in topics]
        return max(own, key=lambda of_topic: (len(of_topic), of_topic[-1]))[-1]

    def _move_back(self, tp: TopicPartition) -> bool:
        """Move one partition back, alone or in exchange; return whether it could be."""
        home, holder = self._previous_owner[tp], self._holder[tp]
        if holder == home:
            return False
        if self._holdings[holder].count <= self._holdings[home].count:
            topics = self._view.members[holder].topics
            foreign = [other for other in self._holdings[home].foreign if other.topic in topics]
            if not foreign:
                return False
            self._move(min(foreign), holder)
        self._move(tp, home)
        return True

    def _take(self, member_id: str, tp: TopicPartition) -> None:
        self._holder[tp] = member_id
        self._holdings[member_id].take(tp, own=self._previous_owner.get(tp) == member_id)

    def _move(self, tp: TopicPartition, taker: str) -> None:
        self._holdings[self._holder[tp]].give(tp)
        self._take(taker, tp)
