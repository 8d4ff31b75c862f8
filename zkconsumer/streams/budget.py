"""How many bytes may wait in the queues of one connector (``queued.max.bytes``).

Every queue has an equal share, and nobody borrows from another. A share that was lent would be
missing at the moment its owner needs it, and to get it back one would have to wait for the stream
that has it: a slow stream would hold up a quick one. So no counter is shared either: each queue
counts what lies in it, and what lies in its stream's hands.

The most that all of fetching takes, however slow the streams are:

- the budget: what is queued and in the streams' hands, decompressed, as CPython allocates it, or
  with the buffers that native chunks keep. A single record that is larger than a queue's share
  counts with its whole size in place of it: it is delivered alone.
- for each fetcher, ``fetch.max.bytes``: what arrives and what waits packed together, since no
  partition is asked while something of it waits. Twice as much for the moment in which what must
  wait is copied out of an answer. (4 KiB for each partition, if that is more.) An entry that is
  larger than its part is fetched all the same, one at a time for each queue, and only when that
  has room.
- for each fetcher and stream, the entry last unpacked, where it is larger than the room there was:
  of a compressed set nothing can be unpacked but all (``fetch.max.decompressed.bytes`` at most, in
  small records up to eight times as much).
- for the process, four buffers of up to 4 MiB that the native core keeps to use them again.
"""

from collections.abc import Callable


class ByteBudget:
    """One limit for all queues of a connector.

    Args:
        limit_bytes: ``queued.max.bytes``, counted as in ``fetch.sizes``.
    """

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._queues: list[object] = []
        self._listeners: list[Callable[[], None]] = []

    @property
    def share_bytes(self) -> int:
        """What every queue may use: the limit over the number of queues, at least a byte."""
        return max(1, self.limit_bytes // max(1, len(self._queues)))

    def enter(self, queue: object, on_change: Callable[[], None] | None = None) -> None:
        """Count one more queue, for as long as the budget lives. Thread: any.

        Args:
            queue: the queue.
            on_change: called at once, and whenever shares have become smaller.
        """
        self._queues.append(queue)
        if on_change is not None:
            self._listeners.append(on_change)
        for listener in list(self._listeners):
            listener()
