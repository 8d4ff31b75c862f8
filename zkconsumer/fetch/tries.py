"""Count tries, and limit the time of retries, before reading a range is given up."""

import logging
from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.errors import PartitionFailed, ZkConsumerError
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import TopicPartition

log = logging.getLogger(__name__)

LONGEST_PAUSE_MS = 1_000


class Tries:
    """Track the tries of one partition's reader. Thread: one.

    Args:
        topic_partition: the partition.
        settings: times and number of tries.
        clock: for the time without a response.
        pause: waits for a number of milliseconds.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        settings: RangeSettings,
        clock: Clock,
        pause: Callable[[int], None],
    ) -> None:
        self._topic_partition = topic_partition
        self._settings = settings
        self._clock = clock
        self._pause = pause
        self._failures = 0
        self._failing_since_ms = 0
        self._unknown_since_ms: int | None = None

    @property
    def is_unknown(self) -> bool:
        """Whether the last metadata lookup found no such partition."""
        return self._unknown_since_ms is not None

    def progressed(self) -> None:
        """Reset the count of failures after progress."""
        self._failures = 0

    def looked_up(self, *, is_unknown: bool) -> None:
        """Record a metadata lookup; if no broker responds, the partition is not unknown."""
        if not is_unknown:
            self._unknown_since_ms = None
        elif self._unknown_since_ms is None:
            self._unknown_since_ms = self._clock.now_ms()

    def rest(self) -> None:
        """Pause for the longest retry interval."""
        self._pause(LONGEST_PAUSE_MS)

    def failed(self, offset: int, reason: str, error: ZkConsumerError | None = None) -> None:
        """Record a failed try, and pause before the next one.

        Args:
            offset: the position of the reader.
            reason: the reason, as text.
            error: the error, if one was raised.

        Raises:
            PartitionFailed: it was the last try.
        """
        now_ms, settings = self._clock.now_ms(), self._settings
        if not self._failures:
            self._failing_since_ms = now_ms
        self._failures += 1
        failing_ms = now_ms - self._failing_since_ms
        if self._unknown_since_ms is not None:
            # Other failures don't count: a broker that has just started knows no topics at first.
            is_over = now_ms - self._unknown_since_ms >= settings.timeout_ms
        else:
            is_over = failing_ms >= settings.poll_timeout_ms
        if self._failures > settings.retries and is_over:
            reason = (
                f"{self._failures} attempts failed within {failing_ms} ms, the last one: {reason}"
            )
            raise PartitionFailed(self._topic_partition, offset, reason) from error
        log.info("%s: attempt %d failed: %s", f"{self._topic_partition}", self._failures, reason)
        pause_ms = settings.retry_interval_ms << min(self._failures - 1, 16)
        self._pause(min(pause_ms, LONGEST_PAUSE_MS))
