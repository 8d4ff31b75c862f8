"""Writes batches to the target until they are acknowledged or refused for good."""

import logging
from collections.abc import Callable, Mapping, Sequence

from zkconsumer.errors import MirrorError, WriteFailed
from zkconsumer.mirror.batch import MirrorBatch
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.model import TopicPartition
from zkconsumer.produce.outgoing_sets import OutgoingRecords
from zkconsumer.produce.pending import WrittenSet
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_ABOUT = "writing to the target"


Send = Callable[[Mapping[TopicPartition, OutgoingRecords]], tuple[WrittenSet, ...]]
"""Writes records, with a few retries; see ``BatchProducer.write``."""


class Writer:
    """Writes batches with retries. Thread: one at a time.

    Args:
        send: writes records.
        ledger: is notified of each message's outcome.
        is_stopping: returns whether to give up retrying.
        pause: waits before the next try.
        retries: the maximum number of further rounds for a batch; None: unlimited.
        drops: whether to drop a message that the target refuses for its size or content, instead of
            raising. Other refusals (e.g. no access) always raise.
    """

    def __init__(
        self,
        send: Send,
        ledger: OffsetLedger,
        *,
        is_stopping: Callable[[], bool],
        pause: Callable[[], object],
        retries: int | None = None,
        drops: bool = False,
    ) -> None:
        self._send = send
        self._ledger = ledger
        self._is_stopping = is_stopping
        self._pause = pause
        self._retries = retries
        self._drops = drops
        self._repeats = Repeats(log)

    def write(self, batch: MirrorBatch) -> bool:
        """Write the rest of a batch.

        Returns:
            False if the write was abandoned because the mirror ends; ``batch.positions()`` then
            shows how far it got, as after an error.

        Raises:
            MirrorError: the target refuses a message for good, or the retries are used up.
        """
        rounds = 0
        while rest := batch.rest():
            try:
                written = self._send(rest)
            except WriteFailed as error:
                if any(error.written.values()):
                    rounds = 0
                self._take(batch, error.written)
                if self._is_stopping():
                    log.warning("stopped before the target acknowledged everything: %s", error)
                    return False
                if self._drops and error.refused:
                    self._drop(batch, error)
                elif error.may_pass and (self._retries is None or rounds < self._retries):
                    text = f"the target does not accept the messages yet, retrying: {error}"
                    self._repeats.happened(_ABOUT, text)
                    rounds += 1
                    self._pause()
                else:
                    raise self._refused(batch, error) from error
            else:
                self._repeats.works(_ABOUT)
                sets: dict[TopicPartition, list[tuple[int, int]]] = {}
                for written_set in written:
                    sets.setdefault(written_set.topic_partition, []).append(
                        (written_set.base_offset, written_set.count)
                    )
                self._take(batch, sets)
        return True

    def _take(
        self, batch: MirrorBatch, written: Mapping[TopicPartition, Sequence[tuple[int, int]]]
    ) -> None:
        landed = [
            landed_run
            for target, sets in written.items()
            for base_offset, count in sets
            for landed_run in batch.acknowledge(target, base_offset, count)
        ]
        if landed:
            self._ledger.on_landed(landed)

    def _drop(self, batch: MirrorBatch, error: WriteFailed) -> None:
        """Drop the refused message, the only one left in its set.

        Other partitions may have failed, too: their errors are handled in the next attempt.
        """
        for target in error.refused:
            self._ledger.on_dropped(*batch.drop_next(target), target, error.failed[target])

    def _refused(self, batch: MirrorBatch, error: WriteFailed) -> MirrorError:
        target = min(error.refused or error.failed)
        reason = error.failed[target]
        source, offset = batch.next_of(target)
        return MirrorError(
            f"the target rejects the message at offset {offset} of {source} (for {target}): "
            f"{reason}. Everything before it is mirrored and is being committed, nothing was "
            "skipped: fix the target and start again, and it continues there"
        )
