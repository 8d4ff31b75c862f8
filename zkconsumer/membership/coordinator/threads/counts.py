"""Counts the events of a member of a coordinator's group, for ``metrics()``."""

from dataclasses import dataclass


@dataclass(slots=True)
class CoordinatorGroupCounts:
    """The counts of events since the start.

    Attributes:
        joined: generations entered.
        heartbeats: responses to heartbeats.
        commits: responses to commits, refusals included.
        lost: how many times partitions were lost.
        last_heartbeat_ms: when the last heartbeat got a response, by the clock's ``now_ms``.
    """

    joined: int = 0
    heartbeats: int = 0
    commits: int = 0
    lost: int = 0
    last_heartbeat_ms: int | None = None

    def numbers(self, now_ms: int) -> dict[str, float]:
        """See ``Membership``."""
        found: dict[str, float] = {
            "join-total": self.joined,
            "heartbeat-total": self.heartbeats,
            "commit-total": self.commits,
            "lost-total": self.lost,
        }
        last_ms = self.last_heartbeat_ms
        found["last-heartbeat-seconds-ago"] = -1 if last_ms is None else (now_ms - last_ms) / 1000
        return found
