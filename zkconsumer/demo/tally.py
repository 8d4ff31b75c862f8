"""Counts which member delivered which line, to prove that nothing was lost. Pure."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryAudit:
    """The final count of the lines that the brokers acknowledged.

    Attributes:
        acknowledged: the number of acknowledged lines.
        delivered: the number of those that at least one member delivered.
        lost: the first ten numbers of lines that no member delivered.
        lost_count: the number of lines that no member delivered.
        repeated: the number of deliveries beyond the first of each line.
    """

    acknowledged: int
    delivered: int
    lost: tuple[int, ...]
    lost_count: int
    repeated: int


class Tally:
    """Counts the deliveries, by member and by line. Thread: one."""

    def __init__(self) -> None:
        self.by_member: Counter[str] = Counter()
        self._seen: Counter[int] = Counter()

    def add(self, member: str, numbers: Iterable[int]) -> None:
        """Count lines that this member delivered."""
        before = self._seen.total()
        self._seen.update(numbers)
        self.by_member[member] += self._seen.total() - before

    def misses(self, acknowledged: Iterable[int]) -> int:
        """Return the number of these lines that were not delivered yet."""
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
