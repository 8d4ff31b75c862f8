"""Bound what to request of a range, and find its lost offsets. Pure.

The rule: every record of the range that the log holds is read once, in order, and what the log
lacks is either a gap (compaction) or reported as lost; nothing is passed over in silence.

Source: Spark 4 ``KafkaDataConsumer`` for what counts as lost. Unlike there, the leader's log
offsets distinguish a gap from a loss, never a time-out.
"""

from zkconsumer.errors import DataLost
from zkconsumer.fetch.range_parts import LostRange
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import OffsetRange
from zkconsumer.records.transactions import IsolationLevel

_MOST_BYTES = 2**31 - 1
_LEAST_BYTES = 64 * 1024
_MARGIN = 1.25
"""Factor on the expected bytes of what is left: entries differ in size."""
_FIRST_GUESS_BYTES = 1024
"""Assumed bytes per offset in the log, until a record of the range has been seen."""


class RangeBounds:
    """Bound the requests for a range: a small range is not fetched with all that follows it.

    Args:
        wanted: the range.
        settings: the sizes.
    """

    def __init__(self, wanted: OffsetRange, settings: RangeSettings) -> None:
        self._wanted = wanted
        self._settings = settings
        self._bytes_per_offset: float = _FIRST_GUESS_BYTES

    @property
    def is_held(self) -> bool:
        """See ``FetchBounds``; a range waits only for its caller."""
        return False

    def size_at(self, offset: int) -> int:
        """See ``FetchBounds``."""
        left = self._wanted.until_offset - offset
        if left <= 0:
            return 0
        expected_bytes = (
            int(min(left * self._bytes_per_offset * _MARGIN, _MOST_BYTES)) + _LEAST_BYTES
        )
        return min(self._settings.fetch_bytes, expected_bytes)

    def takes_large(self) -> bool:
        """See ``FetchBounds``."""
        return True

    def expect_set(self) -> None:
        """See ``FetchBounds``."""

    def learn(self, start: int, stop: int, size_bytes: int) -> None:
        """See ``FetchBounds``."""
        self._bytes_per_offset = size_bytes / (stop - start)


class RangeLosses:
    """Find the offsets of a range that are not in the log.

    Args:
        wanted: the range.
        settings: times, and whether a loss is an error.
    """

    def __init__(self, wanted: OffsetRange, settings: RangeSettings) -> None:
        self._wanted = wanted
        self._settings = settings
        # As of the last response, if that was empty.
        self._log_end = -1
        self._absent_since_ms: int | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the leader's log ends before an offset that existed at planning time."""
        return self._absent_since_ms is not None

    def forget_end(self) -> None:
        """Forget the log end of an empty response, after records or after a failed try.

        The next leader may be another broker; it gets as much time as the last one had.
        """
        self._log_end = -1
        self._absent_since_ms = None

    def pass_gap(self, offset: int, log_end: int, now_ms: int) -> int:
        """Handle an empty response; return the offset after a gap, or the requested offset.

        A broker may read the log first and its end later, so one such response proves little. But
        offsets below the previous response's end that this response lacks, too, are not in the
        log: compaction removed them. (This is not so for offsets above this response's own end: a
        new leader may not know yet how far consumers may read.)

        Args:
            offset: the requested offset.
            log_end: the readable end of the log, as of this response.
            now_ms: the time.
        """
        behind = min(self._log_end, log_end, self._wanted.until_offset)
        if behind > offset:
            self.forget_end()
            offset = behind
        self._log_end = log_end
        self._note_absence(now_ms, is_absent=offset >= log_end)
        return offset

    def on_edges(self, offset: int, start: int, end: int, now_ms: int) -> LostRange | None:
        """Apply the start and end of a log that does not have the offset.

        Returns:
            The lost range; None: request the offset again.

        Raises:
            DataLost: in place of a lost range, with ``fail_on_data_loss``.
        """
        if offset < start:
            until = min(start, self._wanted.until_offset)
            reason = f"the log begins at offset {start} (older messages are deleted)"
            return self._lost(offset, until, reason)
        self._log_end = end
        self._note_absence(now_ms, is_absent=offset > end)
        return self.give_up_absent(offset, now_ms)

    def give_up_absent(self, offset: int, now_ms: int) -> LostRange | None:
        """Give up offsets that did not arrive within ``timeout_ms`` though the log had them once.

        Returns:
            See ``on_edges``.

        Raises:
            DataLost: in place of a lost range, with ``fail_on_data_loss``.
        """
        since_ms = self._absent_since_ms
        if since_ms is None or now_ms - since_ms < self._settings.timeout_ms:
            return None
        reason = (
            f"the log ends at offset {self._log_end} (it was truncated when a replica that "
            f"lagged behind became the leader, or the topic was created again)"
        )
        if self._settings.isolation is IsolationLevel.READ_COMMITTED:
            reason += ", or a transaction is open there"
        return self.rest(offset, reason)

    def rest(self, offset: int, reason: str) -> LostRange:
        """Give up the rest of the range.

        Raises:
            DataLost: in place of a lost range, with ``fail_on_data_loss``.
        """
        return self._lost(offset, self._wanted.until_offset, reason)

    def _note_absence(self, now_ms: int, *, is_absent: bool) -> None:
        if not is_absent:
            self._absent_since_ms = None
        elif self._absent_since_ms is None:
            self._absent_since_ms = now_ms

    def _lost(self, start: int, until: int, reason: str) -> LostRange:
        tp = self._wanted.topic_partition
        if self._settings.fail_on_data_loss:
            raise DataLost(tp, start, until, reason)
        self.forget_end()
        return LostRange(
            topic_partition=tp,
            from_offset=start,
            until_offset=until,
            reason=reason,
        )
