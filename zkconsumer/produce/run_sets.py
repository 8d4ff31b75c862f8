"""Builds sets from runs of the native core: ``outgoing_sets`` without record objects. Pure.

A compressed batch that was fetched with its bytes kept (``SetReader``) becomes a set of its own,
with a new header: if the codec is the same, it need not be compressed again.

Import this only if the core is available.
"""

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import TimestampType
from zkconsumer.native import _core
from zkconsumer.produce.outgoing import NO_SEQUENCE, ProducerSequence, headers_refused
from zkconsumer.produce.outgoing_sets import OutgoingPart
from zkconsumer.records.batch_header import MAGIC as BATCH_MAGIC
from zkconsumer.records.build import wrap_message_set
from zkconsumer.records.codecs import Codec, compress
from zkconsumer.wire.messages.produce import FIRST_WITH_BATCHES, FIRST_WITH_TIMESTAMPS

_ANY_SIZE = 2**62
_WHY = {
    _core.BUILD_TIMES: "is too far in time from the first one for a batch",
    _core.BUILD_TOO_LARGE: "is too large for any set",
}


class RunPart:
    """Consecutive records in runs.

    Args:
        runs: the runs, with at least one record in total.
        with_headers: whether to keep their headers.
    """

    __slots__ = ("_count", "runs", "with_headers")

    def __init__(self, runs: list[_core.Run], *, with_headers: bool = True) -> None:
        self.runs = runs
        self.with_headers = with_headers
        self._count = sum(map(len, runs))

    def __len__(self) -> int:
        return self._count

    def build(
        self, *, version: int, codec: Codec, now_ms: int, sequence: ProducerSequence = NO_SEQUENCE
    ) -> bytes:
        """See ``RowPart``."""
        if version >= FIRST_WITH_BATCHES and self.with_headers and len(self.runs) == 1:
            passed = _core.pass_batch(
                self.runs[0],
                codec=codec,
                producer_id=sequence.producer_id,
                producer_epoch=sequence.epoch,
                base_sequence=sequence.first,
            )
            if passed is not None:
                return passed
        magic = BATCH_MAGIC
        if version < FIRST_WITH_BATCHES:
            magic = int(version >= FIRST_WITH_TIMESTAMPS)
        status, data, count, base_time, max_time = _core.build_records(
            self.runs, magic=magic, with_headers=self.with_headers, now_ms=now_ms
        )
        if status == _core.BUILD_HEADERS:
            raise headers_refused(count, version)
        if status != _core.BUILT:
            raise LocalProtocolError(f"record {count} of the set {_WHY[status]}")
        if magic < BATCH_MAGIC:
            if codec is Codec.NONE:
                return data
            kind = TimestampType.CREATE_TIME if magic else TimestampType.NONE
            return wrap_message_set(
                data,
                offset=count - 1,
                codec=codec,
                magic=magic,
                timestamp=max_time,
                timestamp_type=kind,
            )
        return _core.seal_batch(
            compress(codec, data, magic=magic),
            attributes=codec,
            count=count,
            base_time=base_time,
            max_time=max_time,
            producer_id=sequence.producer_id,
            producer_epoch=sequence.epoch,
            base_sequence=sequence.first,
        )

    def cut(self, set_bytes: int) -> "tuple[RunPart, RunPart | None]":
        """See ``RowPart``."""
        if self.with_headers:
            front, rest = _core.cut_set(self.runs, set_bytes)
        else:
            front, rest, _ = _core.cut_runs(self.runs, set_bytes)
        return self._part(front), self._part(rest) if rest else None

    def split(self, count: int) -> "tuple[RunPart, RunPart]":
        """See ``RowPart``."""
        front, rest, _ = _core.cut_runs(self.runs, _ANY_SIZE, count)
        return self._part(front), self._part(rest)

    def joined(self, other: OutgoingPart) -> "RunPart | None":
        """See ``RowPart``."""
        if not isinstance(other, RunPart) or other.with_headers is not self.with_headers:
            return None
        return self._part([*self.runs, *other.runs])

    def _part(self, runs: list[_core.Run]) -> "RunPart":
        return RunPart(runs, with_headers=self.with_headers)


def offset_ranges(runs: list[_core.Run]) -> list[tuple[int, int]]:
    """Return the offsets of runs as ``[from, until)`` ranges without a gap, ascending."""
    return _core.offsets_of(runs)
