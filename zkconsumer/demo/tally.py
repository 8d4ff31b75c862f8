"""Counts which member delivered which line: proves that nothing was lost. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryAudit:
    """What became of the lines that the brokers acknowledged.

    Attributes:
        acknowledged: how many there were.
        delivered: how many of them reached at least one member.
        lost: the numbers of those that reached none, the first ten.
        lost_count: how many those are in all.
        repeated: deliveries beyond the first of each line.
    """

    acknowledged: int
    delivered: int
    lost: tuple[int, ...]
    lost_count: int
    repeated: int


class Tally:
    """Deliveries by member and line."""

    def __init__(self) -> None:
        self.by_member: Counter[str] = Counter()
        self._seen: Counter[int] = Counter()

    def add(self, member: str, numbers: Iterable[int]) -> None:
        """Count lines that this member delivered."""
        before = self._seen.total()
        self._seen.update(numbers)
        self.by_member[member] += self._seen.total() - before

    def misses(self, acknowledged: Iterable[int]) -> int:
        """Return how many of these lines were not delivered yet."""
        return sum(number not in self._seen for number in acknowledged)

    def outcome(self, acknowledged: set[int]) -> DeliveryAudit:
        """Return the final count."""
        lost = sorted(acknowledged - self._seen.keys())
        return DeliveryAudit(
            acknowledged=len(acknowledged),
            delivered=len(acknowledged) - len(lost),
            lost=tuple(lost[:10]),
            lost_count=len(lost),
            repeated=self._seen.total() - len(self._seen),
        )
