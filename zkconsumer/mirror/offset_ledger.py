"""Keeps the shared ledger of a mirror's streams: counts, the offsets file, the limits.

Thread: any; a stream makes a few calls for each poll.
"""

import logging
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from zkconsumer.mirror.ends import Ends
from zkconsumer.mirror.landed import Landed, ReadFrom, ReadUntil, Run
from zkconsumer.mirror.offsets_file import OffsetsFile
from zkconsumer.mirror.partition_totals import PartitionAccount
from zkconsumer.model import TopicPartition

log = logging.getLogger(__name__)


class OffsetLedger:
    """Records what the streams of a mirror read, wrote and committed; see the module.

    Args:
        offsets_file: records the offsets of messages in the target; None: there is none.
        ends: the log ends at which the mirror is to end; None: it does not end there.
        max_messages: the maximum number of messages to read; None: no limit.
    """

    def __init__(
        self,
        *,
        offsets_file: OffsetsFile | None = None,
        ends: Ends | None = None,
        max_messages: int | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._accounts: dict[TopicPartition, PartitionAccount] = defaultdict(PartitionAccount)
        self._file = offsets_file
        self._in_file: dict[TopicPartition, int] = {}
        self._ends = ends
        self._left = max_messages
        self._reserved = 0
        if ends is not None:
            for tp, end in ends.ends.items():
                self._accounts[tp].end = end

    def totals(self) -> dict[TopicPartition, PartitionAccount]:
        """Return a copy of the counts of each partition."""
        with self._lock:
            return {tp: replace(account) for tp, account in sorted(self._accounts.items())}

    # --- limits -----------------------------------------------------------------------------

    @property
    def is_complete(self) -> bool:
        """Whether the limit or all ends are reached."""
        with self._lock:
            used_up = self._left == 0 and self._reserved == 0
            return used_up or (self._ends is not None and not self._ends.missing)

    @property
    def is_limited(self) -> bool:
        """Whether streams share a maximum number of messages."""
        with self._lock:
            return self._left is not None

    def missing(self) -> frozenset[TopicPartition]:
        """Return the partitions whose end is not reached yet."""
        with self._lock:
            return frozenset() if self._ends is None else self._ends.missing

    def reserve(self, most: int) -> int:
        """Reserve up to ``most`` messages; return how many may be read. ``settle`` afterwards."""
        with self._lock:
            count = most if self._left is None else min(most, self._left)
            self._reserved += count
            if self._left is not None:
                self._left -= count
            return count

    def settle(self, reserved: int, used: int) -> None:
        """Record how many of the reserved messages were read."""
        with self._lock:
            self._reserved -= reserved
            if self._left is not None:
                self._left += reserved - used

    # --- events -----------------------------------------------------------------------------

    def on_read(self, source: TopicPartition, runs: Sequence[Run], start: int | None) -> None:
        """Record messages that were read, by their offsets.

        ``start``: the offset at which reading began, if these messages are the first; else None.

        Offsets that were deleted before a restarted mirror could read them are logged. The start is
        appended to the offsets file before anything is written, also for a partition that comes
        back after other members have read it.
        """
        with self._lock:
            jump = self._accounts[source].add_read(runs, start)
            known = self._in_file.get(source)
            began = runs[0][0] if start is None else start
            is_new = known is None or (start is not None and start > known)
            if is_new:
                self._in_file[source] = began
        if is_new and self._file is not None:
            self._file.append([ReadFrom(source, began)])
        if jump and start is not None:
            log.warning(
                "%s: offsets %d to %d are not mirrored: the source has no messages there (any "
                "more)",
                f"{source}",
                runs[0][0] - jump,
                runs[0][0] - 1,
            )

    def on_landed(self, landed: Sequence[Landed]) -> None:
        """Record acknowledged messages."""
        if self._file is not None:
            self._file.append(landed)
        with self._lock:
            for landed_run in landed:
                self._extend(landed_run.source, landed_run.until_offset)
                self._accounts[landed_run.source].acknowledged += landed_run.count

    def on_dropped(
        self, source: TopicPartition, offset: int, target: TopicPartition, reason: str
    ) -> None:
        """Record a dropped message, which the target will never accept."""
        log.error(
            "%s: the message at offset %d is NOT mirrored, the target (%s) rejected it: %s",
            source,
            offset,
            target,
            reason,
        )
        with self._lock:
            self._accounts[source].dropped += 1

    def on_reached(self, source: TopicPartition, position: int) -> None:
        """Record that everything before this offset is in the target (or was dropped)."""
        with self._lock:
            self._accounts[source].reach(position)
            if self._ends is not None:
                self._ends.reached(source, position)

    def on_reached_by_others(self, source: TopicPartition, committed: int, end: int) -> None:
        """Record an offset that another process has committed, and the current log end."""
        with self._lock:
            if self._ends is not None:
                self._ends.reached_by_others(source, committed, end)

    def forget(self, topics: Collection[str]) -> None:
        """Forget the ends of all topics but these: they can't be reached."""
        with self._lock:
            if self._ends is not None:
                self._ends.forget_all_but(topics)

    def on_ends(self, ends: Mapping[TopicPartition, int]) -> None:
        """Record current log ends; lower ones replace the ends to reach."""
        with self._lock:
            known = self._ends
            if known is not None:
                for tp, end in ends.items():
                    if known.shorten(tp, end):
                        self._accounts[tp].end = end

    def sync(self, due: Mapping[TopicPartition, int]) -> None:
        """Flush all lines to disk; called before these offsets are committed.

        If the log has gaps after the last message, a line records that they were read.
        """
        if self._file is None:
            return
        with self._lock:
            lines = [
                ReadUntil(tp, offset) for tp, offset in due.items() if self._extend(tp, offset)
            ]
        if lines:
            self._file.append(lines)
        self._file.sync()

    def _extend(self, source: TopicPartition, until: int) -> bool:
        """Record how far the file reaches; return whether it grew. Requires the lock."""
        before = self._in_file.get(source, until)
        self._in_file[source] = max(before, until)
        return until > before

    def on_committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Record committed offsets."""
        with self._lock:
            for tp, offset in offsets.items():
                self._accounts[tp].committed = offset
