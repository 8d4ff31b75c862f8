"""Decides when a stream's next batch is due, and how much it reads. Pure.

Spark's API for Python data sources has no composite limits, and none with a delay, so the source
itself applies ``minOffsetsPerTrigger`` and ``maxTriggerDelay``. With Trigger.AvailableNow, it ends
the query at the log ends as of its start.

Source: Spark 4.2 ``KafkaMicroBatchStream.latestOffset`` and ``delayBatch``. Unlike in Spark,
    Trigger.AvailableNow never waits: it must read all available messages, including a remainder
    below the minimum.
"""

from collections.abc import Mapping

from zkconsumer.model import TopicPartition
from zkconsumer.spark.offset_ranges import rate_limit

Offsets = Mapping[TopicPartition, int]


class BatchAdmission:
    """Limits one stream's batches; the first one is never delayed.

    Args:
        max_offsets: maximum offsets of a batch, None for no limit.
        min_offsets: minimum offsets of a batch, None for no limit.
        max_delay_ms: the time after the last batch at which the wait for ``min_offsets`` ends.
    """

    def __init__(
        self,
        *,
        max_offsets: int | None = None,
        min_offsets: int | None = None,
        max_delay_ms: int = 0,
    ) -> None:
        self._max_offsets = max_offsets
        self._min_offsets = min_offsets
        self._max_delay_ms = max_delay_ms
        self._last_batch_ms: int | None = None
        self._available_now = False
        self._frozen: dict[TopicPartition, int] | None = None

    def prepare_available_now(self) -> None:
        """Make the log ends at the next call of ``next_end`` the end of the query."""
        self._available_now = True
        self._frozen = None

    def next_end(
        self, start: Offsets, latest: Offsets, earliest: Offsets, *, now_ms: int
    ) -> dict[TopicPartition, int]:
        """Return the next batch's end; ``start`` if none is due.

        Args:
            start: the end of the last batch.
            latest: the ends of the logs. With Trigger.AvailableNow only those of the first call
                count, and partitions created later are left for the next query.
            earliest: the earliest offsets of the partitions of ``latest`` that ``start`` lacks, and
                optionally of others; messages before them do not count.
            now_ms: the time of a monotonic clock.

        Returns:
            An end for every partition of ``latest``.
        """
        if self._available_now:
            if self._frozen is None:
                self._frozen = dict(latest)
            latest = self._frozen
        origin = {**earliest, **{tp: max(at, earliest.get(tp, at)) for tp, at in start.items()}}
        if self._is_put_off(origin, latest, now_ms):
            return dict(start)
        self._last_batch_ms = now_ms
        if self._max_offsets is None:
            return dict(latest)
        return rate_limit(origin, latest, self._max_offsets)

    def _is_put_off(self, origin: Offsets, latest: Offsets, now_ms: int) -> bool:
        minimum = self._min_offsets
        if minimum is None or self._available_now:
            return False
        last_ms = self._last_batch_ms
        waited = last_ms is None or now_ms - last_ms >= self._max_delay_ms
        available = sum(max(0, end - origin.get(tp, end)) for tp, end in latest.items())
        return not waited and available < minimum
