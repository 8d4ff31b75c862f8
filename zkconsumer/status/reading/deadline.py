"""The time limits of reading a snapshot, and the deadline for one part of it."""

from dataclasses import dataclass

from zkconsumer.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingLimits:
    """Time limits of reading.

    Attributes:
        cluster_ms: for brokers and topics.
        cluster_every_ms: the maximum age of brokers and topics, which are a fifth of all reads, and
            seldom change.
        groups_ms: for the groups in ZooKeeper.
        brokers_ms: for each of three rounds to the brokers: logs, groups, offsets.
        quiet_ms: how long a ZooKeeper group without offsets in Kafka is assumed to have none;
            except one with members and no offsets anywhere, which has yet to commit.
        selected_ms: for reading some groups again.
        sessions_ms: for the list of sessions.
        times_ms: for reading the timestamps of the groups' next records.
        times_most: the maximum number of them to read at a time; 0: none.
    """

    cluster_ms: int = 5_000
    cluster_every_ms: int = 5_000
    groups_ms: int = 5_000
    brokers_ms: int = 5_000
    quiet_ms: int = 60_000
    selected_ms: int = 2_000
    sessions_ms: int = 2_000
    times_ms: int = 2_000
    times_most: int = 0


class Deadline:
    """The time by which a read must end. Thread: any."""

    def __init__(self, clock: Clock, limit_ms: int) -> None:
        self._clock = clock
        self.limit_ms = limit_ms
        self._at_ms = clock.now_ms() + limit_ms

    @property
    def left_ms(self) -> int:
        """The remaining time; 0 after the deadline."""
        return max(0, self._at_ms - self._clock.now_ms())

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left_ms == 0
