"""The sticky assignor: as even as the subscriptions allow, and then as little moved as possible.

Even means: no partition could go from its reader to another one who subscribes to it and has at
least two fewer (KIP-54). Four steps:

1. Everybody keeps what they had.
2. What nobody had is dealt out, each to who has the least; topics with few readers go first.
3. Partitions go from who has most to who has least, until that is even. What was not the giver's
   of old goes first, and best of all back to its old owner.
4. Partitions that came away from their old owners without need go back, some in exchange.

Where all read the same topics, the first three steps already move as few as can be. Otherwise
that is a hard problem, and this a good answer.

Source: KIP-54 and the promises of Kafka's ``AbstractStickyAssignor``; the algorithm is our own.
"""

from bisect import bisect_left, insort
from heapq import heapify, heapreplace

from zkconsumer.assignment.coordinated.view import CoordinatedView
from zkconsumer.model import TopicPartition, utf16_key


def assign(view: CoordinatedView) -> dict[str, tuple[TopicPartition, ...]]:
    """Each member's partitions, sorted, for the whole group; members without any as well."""
    deal = _Deal(view)
    deal.keep()
    deal.deliver()
    deal.level()
    while deal.bring_home():
        deal.level()
    return deal.shares()


def rightful_owners(view: CoordinatedView) -> dict[TopicPartition, str]:
    """Who had each partition, by what the members say, as far as they may still have it.

    Of several that claim one, the latest generation had it; where that does not tell, the first
    in the order of dealing. A claim of a topic that its maker no longer reads is void.
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
    """What one member holds at the moment: what was its own of old by topic, and the rest."""

    def __init__(self) -> None:
        self.own: dict[str, list[TopicPartition]] = {}
        self.strange: set[TopicPartition] = set()
        self.count = 0

    def topics(self) -> set[str]:
        return {tp.topic for tp in self.strange} | self.own.keys()

    def take(self, tp: TopicPartition, *, own: bool) -> None:
        self.count += 1
        if own:
            insort(self.own.setdefault(tp.topic, []), tp)
        else:
            self.strange.add(tp)

    def give(self, tp: TopicPartition) -> None:
        self.count -= 1
        if tp in self.strange:
            self.strange.remove(tp)
            return
        of_topic = self.own[tp.topic]
        del of_topic[bisect_left(of_topic, tp)]
        if not of_topic:
            del self.own[tp.topic]

    def all(self) -> tuple[TopicPartition, ...]:
        return tuple(sorted(self.strange.union(*self.own.values())))


class _Deal:
    """One assignment on the way."""

    def __init__(self, view: CoordinatedView) -> None:
        self._view = view
        self._readers = view.readers()
        self._rank = {member: rank for rank, member in enumerate(view.ordered_members())}
        self._home = rightful_owners(view)
        self._holder: dict[TopicPartition, str] = {}
        self._holdings = {member_id: _MemberPartitions() for member_id in self._rank}

    def shares(self) -> dict[str, tuple[TopicPartition, ...]]:
        return {member_id: held.all() for member_id, held in self._holdings.items()}

    # --- the steps ----------------------------------------------------------------------

    def keep(self) -> None:
        for tp, member_id in self._home.items():
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
                if tp not in self._home:
                    member_id = emptiest[0][2]
                    self._take(member_id, tp)
                    heapreplace(emptiest, self._fullness(member_id))

    def level(self) -> None:
        """Give from the fullest hands to the emptiest, as long as that makes it more even.

        Each gift makes the sum of the squared counts smaller, so this ends. A giver who could
        give nothing may be able to once others have given: so all are asked again.
        """
        gave = True
        while gave:
            fullest_first = sorted(
                self._rank, key=lambda member_id: (-self._holdings[member_id].count, member_id)
            )
            gave = sum(self._level_from(giver) for giver in fullest_first) > 0

    def bring_home(self) -> bool:
        """Undo moves that evenness does not need; tells whether there were any.

        Each brings one more partition home and leaves the sum of the squared counts as it is. It
        can make somebody else uneven, since other members may have more than they did.
        """
        strayed = [tp for tp, home in self._home.items() if self._holder[tp] != home]
        return sum(self._come_home(tp) for tp in sorted(strayed)) > 0

    # --- their parts --------------------------------------------------------------------

    def _fullness(self, member_id: str) -> tuple[int, int, str]:
        return self._holdings[member_id].count, self._rank[member_id], member_id

    def _level_from(self, giver: str) -> bool:
        """Give away until nobody who could take one has two fewer; tells whether it did."""
        gave = False
        held = self._holdings[giver]
        while held.count >= 2:
            # Most topics of a group have the same readers: ask each set of them once.
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
        """What was the taker's, or else what was not the giver's, or else the giver's own.

        Of these, one of the topic of which the giver has most.
        """
        topics = self._view.members[taker].topics
        strange = [tp for tp in held.strange if tp.topic in topics]
        if strange:
            return min(strange, key=lambda tp: (self._home.get(tp) != taker, tp))
        own = [of_topic for topic, of_topic in held.own.items() if topic in topics]
        return max(own, key=lambda of_topic: (len(of_topic), of_topic[-1]))[-1]

    def _come_home(self, tp: TopicPartition) -> bool:
        """Let one partition come home, alone or in exchange; tells whether it could."""
        home, holder = self._home[tp], self._holder[tp]
        if holder == home:
            return False
        if self._holdings[holder].count <= self._holdings[home].count:
            topics = self._view.members[holder].topics
            strange = [other for other in self._holdings[home].strange if other.topic in topics]
            if not strange:
                return False
            self._move(min(strange), holder)
        self._move(tp, home)
        return True

    def _take(self, member_id: str, tp: TopicPartition) -> None:
        self._holder[tp] = member_id
        self._holdings[member_id].take(tp, own=self._home.get(tp) == member_id)

    def _move(self, tp: TopicPartition, taker: str) -> None:
        self._holdings[self._holder[tp]].give(tp)
        self._take(taker, tp)
