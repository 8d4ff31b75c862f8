"""Limits the bytes in the queues of one connector (``queued.max.bytes``). Pure.

Every queue has an equal share and borrows from no other. A borrowed share would be missing when
its owner needs it, and would be returned only when another stream reads on: a slow stream would
hold up a fast one. So there is no shared counter either: each queue counts its own chunks, and the
chunk that its stream is reading.

The maximum memory of all fetching, however slow the streams are:

- the budget: chunks queued and being read, decompressed, as CPython allocates them, or with the
  buffers that native chunks keep. A single record larger than a queue's share counts with its whole
  size in place of the share: it is delivered alone.
- for each fetcher, ``fetch.max.bytes``: arriving and waiting compressed sets together, since no
  partition is fetched while a part of its response waits. Twice that while waiting sets are copied
  out of a response. (4 KiB for each partition, if that is more.) An entry larger than its part is
  still fetched, one at a time for each queue, and only when the queue has capacity.
- for each fetcher and stream, the entry last decompressed, if it was larger than the free bytes: a
  compressed set decompresses only as a whole (at most ``fetch.max.decompressed.bytes``; as small
  records, up to eight times as much).
- for the process, four buffers of up to 4 MiB that the native core keeps for reuse.
"""

from collections.abc import Callable


class ByteBudget:
    """One limit for all queues of a connector, in equal shares.

    Args:
        limit_bytes: ``queued.max.bytes``, counted as in ``fetch.sizes``.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._queues: list[Callable[[], None]] = []

    @property
    def share_bytes(self) -> int:
        """The bytes each queue may use: the limit divided by the number of queues, at least 1."""
        return max(1, self.limit_bytes // max(1, len(self._queues)))

    def enter(self, on_change: Callable[[], None]) -> None:
        """Add a queue, for as long as the budget lives. Thread: any.

        Args:
            on_change: called at once, and whenever the shares have become smaller.
        """
        self._queues.append(on_change)
        for listener in list(self._queues):
            listener()
