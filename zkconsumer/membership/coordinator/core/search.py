"""The lookup of a group's coordinator, which runs alongside the steps of a rebalance."""

from collections.abc import Callable

from zkconsumer.backoff import Backoff
from zkconsumer.membership.coordinator.core.states import GroupSettings


class CoordinatorSearch:
    """Decides when to look up the coordinator.

    Attributes:
        located: whether the coordinator is known.
    """

    def __init__(self, settings: GroupSettings, random: Callable[[], float]) -> None:
        self._pauses = Pauses(settings, random)
        self._open_round: int | None = None
        self._round = 0
        self.located = False

    def start(self, now_ms: int) -> int | None:
        """Begin a lookup if one is due; return its round, or None."""
        if self.located or self._open_round is not None or now_ms < self._pauses.until_ms:
            return None
        self._round += 1
        self._open_round = self._round
        return self._round

    def on_response(self, round_: int) -> bool:
        """End the lookup; return whether this is the response that it awaited."""
        if round_ != self._open_round:
            return False
        self._open_round = None
        return True

    def drop(self) -> None:
        """Stop awaiting a response."""
        self._open_round = None

    def on_coordinator_found(self) -> None:
        """Record that the coordinator is known."""
        self.located = True
        self._pauses.over()

    def pause(self, now_ms: int) -> None:
        """Record that the lookup failed."""
        self._pauses.pause(now_ms)

    @property
    def deadline_ms(self) -> int | None:
        """The time of the next lookup; None: none is needed."""
        if self.located or self._open_round is not None:
            return None
        return self._pauses.until_ms


class Pauses:
    """Pauses that double with each consecutive failure (KIP-580).

    Args:
        settings: the first and the longest pause.
        random: returns numbers in [0, 1).

    Attributes:
        until_ms: when the next try is due.
    """

    def __init__(self, settings: GroupSettings, random: Callable[[], float]) -> None:
        self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms)
        self._random = random
        self._failed = 0
        self.until_ms = 0

    def pause(self, now_ms: int) -> None:
        """Record a failed try."""
        self.until_ms = now_ms + self._backoff.delay_ms(self._failed, self._random())
        self._failed += 1

    def over(self) -> None:
        """Record a successful try."""
        self._failed = 0
        self.until_ms = 0
