"""The search for a group's coordinator; it runs beside the steps of a rebalance."""

from collections.abc import Callable

from zkconsumer.group.pauses import Pauses
from zkconsumer.group.states import GroupSettings


class CoordinatorSearch:
    """Whether the coordinator is known, and when to ask for it again.

    Attributes:
        located: whether it is known.
    """

    def __init__(self, settings: GroupSettings, random: Callable[[], float]) -> None:
        self._pauses = Pauses(settings, random)
        self._open_round: int | None = None
        self._round = 0
        self.located = False

    def start(self, now_ms: int) -> int | None:
        """The round of a search that should start now; None where there should be none."""
        if self.located or self._open_round is not None or now_ms < self._pauses.until_ms:
            return None
        self._round += 1
        self._open_round = self._round
        return self._round

    def on_response(self, round_: int) -> bool:
        """Return whether that is the answer we wait for; we wait no more."""
        if round_ != self._open_round:
            return False
        self._open_round = None
        return True

    def drop(self) -> None:
        """Wait for no answer any more."""
        self._open_round = None

    def found(self) -> None:
        """It is known."""
        self.located = True
        self._pauses.over()

    def pause(self, now_ms: int) -> None:
        """The search failed."""
        self._pauses.pause(now_ms)

    @property
    def deadline_ms(self) -> int | None:
        """When to start; None where there is nothing to start."""
        if self.located or self._open_round is not None:
            return None
        return self._pauses.until_ms
