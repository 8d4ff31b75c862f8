"""Where reading of one fixed range stands: pure state, and what each answer does to it.

The rule: every record of the range that the log holds comes once, in order, and what the log does
not hold is either a gap (compaction) or is said to be lost; nothing is passed over in silence.

Source: Spark 4 ``KafkaDataConsumer`` for what counts as lost. Unlike there, a gap is told from a
loss by what the leader says of its log, never by a time-out.
"""

from dataclasses import dataclass
from enum import Enum, auto

from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import CorruptRecord, DataLost, MessageTooLarge, PartitionFailed
from zkconsumer.fetch.range_parts import (
    Aborted,
    LostRange,
    Piece,
    PieceDecoder,
    RangePart,
    decode_native,
    decode_piece,
    decode_pure,
    parts_of,
)
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.model import OffsetRange
from zkconsumer.records.engine import ENGINE, Engine, believed
from zkconsumer.records.entries import HEADER_BYTES, CutOff, cut_off_entry
from zkconsumer.records.transactions import IsolationLevel, readable_end
from zkconsumer.wire.messages.fetch import FetchedPartition

if ENGINE is Engine.NATIVE:
    from zkconsumer.native import _core

_MOST_BYTES = 2**31 - 1
_LEAST_BYTES = 64 * 1024
_PURE_EXPANSION = 4
"""How much larger than in the log small records are as Python objects."""
_FIRST_GUESS_BYTES = 1024
"""What an offset may take in the log, before anything of the range was seen."""


class Verdict(Enum):
    """What an answer is."""

    ARRIVED = auto()
    """There is something to unpack."""
    EMPTY = auto()
    """Nothing is there at that offset, or not yet."""
    OUT_OF_RANGE = auto()
    """The log does not have the offset: its edges must be asked for."""
    ELSEWHERE = auto()
    """The broker can't serve it now, perhaps another one does."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What to fetch."""

    offset: int
    max_bytes: int


@dataclass(slots=True, eq=False)
class _Packed:
    """What came: ``at_byte`` is how far it is unpacked.

    ``misplaced`` is what is wrong with the entry behind it, if that claims an offset at which it
    can't lie. ``aborted`` are the aborted transactions in it, for a reader of committed records.
    """

    data: memoryview
    ask: Ask
    misplaced: CorruptRecord | None
    aborted: Aborted | None
    at_byte: int = 0


class RangeCursor:
    """One range, as far as it is read.

    Args:
        wanted: the range.
        settings: the sizes and times.
        decoder: what decodes; by default that of the engine.

    Attributes:
        wanted: the same.
        next_offset: behind what was unpacked, or passed over.
    """

    def __init__(
        self, wanted: OffsetRange, settings: RangeSettings, *, decoder: PieceDecoder = decode_piece
    ) -> None:
        self.wanted = wanted
        self.next_offset = wanted.from_offset
        self._settings = settings
        self._decode = decoder
        self._is_committed = settings.isolation is IsolationLevel.READ_COMMITTED
        self._growth_max_bytes = min(
            max(settings.growth_max_bytes, settings.fetch_bytes), _MOST_BYTES
        )
        self._needed_bytes = 0
        self._bytes_per_offset: float = _FIRST_GUESS_BYTES
        self._packed: _Packed | None = None
        self._suspect_offset: int | None = None
        # Of the last answer, if that was empty.
        self._high_watermark = -1
        self._absent_since_ms: int | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the leader's log ends in front of what was there when the range was planned."""
        return self._absent_since_ms is not None

    def has_packed(self) -> bool:
        """Whether ``unpack`` has something to do."""
        return self._packed is not None

    def ask(self) -> Ask | None:
        """What to fetch, with nothing left to unpack; None at the end of the range."""
        return self._ask_at(self.next_offset)

    def ask_ahead(self) -> Ask | None:
        """What to fetch next, by the headers of what came; None where they are not looked at.

        It is a guess, which ``ask`` confirms or not when all is unpacked.
        """
        packed = self._packed
        if packed is None or self._decode is not decode_native:
            return None
        behind, needed_bytes = _core.look_ahead(packed.data, packed.ask.offset)
        if behind <= packed.ask.offset:
            return None
        self._learn(packed, behind, needed_bytes)
        return self._ask_at(behind)

    def receive(self, ask: Ask, answer: FetchedPartition, now_ms: int) -> Verdict:
        """Take an answer, with nothing left to unpack.

        Raises:
            PartitionFailed: the broker refuses to serve the partition.
        """
        code = answer.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return Verdict.OUT_OF_RANGE
        if code != ErrorCode.NONE:
            error = ErrorCode.of(code)
            if error.retriable or error.refresh_metadata or error is ErrorCode.UNKNOWN:
                return Verdict.ELSEWHERE
            reason = f"the broker refuses to serve it: {error_name(code)}: {error.text}"
            raise PartitionFailed(self.wanted.topic_partition, self.next_offset, reason)
        end = self._log_end(answer)
        if answer.records:
            # Nobody writes to an answer that came: what is made of it may point into it.
            packed = self._judged(answer.records.toreadonly(), ask, answer)
            is_through = end <= ask.offset
            if packed.data or packed.misplaced is not None or not is_through:
                self._packed = packed
                return Verdict.ARRIVED
        # A message that seemed to need more is not there any more.
        self._needed_bytes = 0
        self._pass_gap(end, now_ms)
        return Verdict.EMPTY

    def forget_end(self) -> None:
        """There was no answer for a while: what the last one said of the log's end is old.

        Its leader may be another one now, which has as much time as that one had.
        """
        self._high_watermark = -1
        self._absent_since_ms = None

    def unpack(self) -> list[RangePart]:
        """Unpack the next piece of what came, and advance over it.

        Returns:
            Its records in parts of a bounded size; none where it held none for us.

        Raises:
            PartitionFailed: there is an entry that can't be read, for the second time.
            MessageTooLarge: there is one that will never fit.
        """
        packed = self._packed
        assert packed is not None
        piece = self._decode_piece(packed)
        # A reader of committed records begins at the answer's start with every piece.
        start = packed.at_byte if packed.aborted is None else 0
        packed.at_byte = start + piece.valid_bytes
        if piece.error is not None:
            self._packed = None
            return self._take_corrupt(piece, piece.error)
        if packed.misplaced is not None and packed.at_byte == len(packed.data):
            self._packed = None
            return self._take_corrupt(piece, packed.misplaced)
        end = min(piece.next_offset, self.wanted.until_offset)
        parts = list(parts_of(piece, end, self._settings.part_bytes))
        self._advance(end)
        tail = packed.data[packed.at_byte :]
        cut_off = cut_off_entry(tail)
        if end < self.wanted.until_offset and cut_off is None and len(tail) >= HEADER_BYTES:
            return parts
        self._packed = None
        if self.next_offset == packed.ask.offset:
            self._grow(packed.ask, cut_off)
        else:
            needed_bytes = cut_off.size_bytes if cut_off is not None else 0
            self._learn(packed, piece.next_offset, needed_bytes)
        return parts

    def receive_edges(self, earliest: int, latest: int, now_ms: int) -> LostRange | None:
        """Hear where the log begins and ends, after OUT_OF_RANGE.

        Returns:
            What is lost; passed over already. None: it is to be asked for again.

        Raises:
            DataLost: instead, with ``fail_on_data_loss``.
        """
        if self.next_offset < earliest:
            end = min(earliest, self.wanted.until_offset)
            reason = f"the log begins at offset {earliest} (older messages are deleted)"
            return self._lose(end, reason, log_start_offset=earliest)
        self._high_watermark = latest
        self._note_absence(now_ms, is_absent=self.next_offset > latest)
        return self.give_up_absent(now_ms)

    def give_up_absent(self, now_ms: int) -> LostRange | None:
        """What did not come within ``timeout_ms`` though it was in the log once, after EMPTY.

        Returns:
            As ``receive_edges``.

        Raises:
            DataLost: instead, with ``fail_on_data_loss``.
        """
        since_ms = self._absent_since_ms
        if since_ms is None or now_ms - since_ms < self._settings.timeout_ms:
            return None
        reason = (
            f"the log ends at offset {self._high_watermark} (it was cut off when a replica that "
            f"lagged behind became the leader, or the topic was created anew)"
        )
        if self._is_committed:
            reason += ", or a transaction is open there"
        return self._lose(self.wanted.until_offset, reason)

    def lose_rest(self, reason: str) -> LostRange:
        """Give up all that is left of the range.

        Raises:
            DataLost: instead, with ``fail_on_data_loss``.
        """
        return self._lose(self.wanted.until_offset, reason)

    def _learn(self, packed: _Packed, behind: int, needed_bytes: int) -> None:
        """Note what the next request is sized by."""
        # It brings at least the entry that this answer ended in the middle of.
        self._needed_bytes = needed_bytes if needed_bytes <= self._growth_max_bytes else 0
        self._bytes_per_offset = len(packed.data) / (behind - packed.ask.offset)

    def _ask_at(self, offset: int) -> Ask | None:
        left = self.wanted.until_offset - offset
        if left <= 0:
            return None
        expected_bytes = int(min(left * self._bytes_per_offset * 1.25, _MOST_BYTES)) + _LEAST_BYTES
        size_bytes = min(self._settings.fetch_bytes, expected_bytes)
        return Ask(offset, min(max(size_bytes, self._needed_bytes), self._growth_max_bytes))

    def _decode_piece(self, packed: _Packed) -> Piece:
        bound_bytes = self._settings.max_decompressed_bytes
        enough_bytes = self._settings.part_bytes
        if self._decode is decode_pure:
            enough_bytes = max(1, enough_bytes // _PURE_EXPANSION)
        if packed.aborted is not None:
            # Which transactions were aborted is told for an answer from its start on. What lies
            # below the offset is passed over without decompressing it.
            return self._decode(
                packed.data, self.next_offset, bound_bytes, enough_bytes, packed.aborted
            )
        # With less than a header of it, a piece would not even tell how large the entry is.
        piece_bytes = max(HEADER_BYTES, enough_bytes)
        while True:
            data = packed.data[packed.at_byte : packed.at_byte + piece_bytes]
            piece = self._decode(data, self.next_offset, bound_bytes, enough_bytes, None)
            first_bytes = piece.first_entry_size_bytes
            if first_bytes is None or packed.at_byte + len(data) == len(packed.data):
                return piece
            piece_bytes = first_bytes

    def _log_end(self, answer: FetchedPartition) -> int:
        """How far the log could be read when this was answered."""
        end = readable_end(
            high_watermark=answer.high_watermark,
            last_stable_offset=answer.last_stable_offset,
            isolation=self._settings.isolation,
        )
        return answer.high_watermark if end is None else end

    def _judged(self, data: memoryview, ask: Ask, answer: FetchedPartition) -> _Packed:
        """Cut off what came in front of the first entry that can't lie there."""
        found = believed(
            data,
            fetch_offset=ask.offset,
            high_watermark=answer.high_watermark,
            is_again=self._suspect_offset == ask.offset,
            max_decompressed_bytes=self._settings.max_decompressed_bytes,
        )
        aborted = (answer.aborted_transactions or ()) if self._is_committed else None
        return _Packed(data[found.start : found.stop], ask, found.error, aborted)

    def _advance(self, offset: int) -> None:
        if offset > self.next_offset:
            self.next_offset = offset
            self._suspect_offset = None
            self._absent_since_ms = None
            self._high_watermark = -1

    def _take_corrupt(self, piece: Piece, error: CorruptRecord) -> list[RangePart]:
        """Keep what is sound; ask once more before believing that the rest is not.

        The next fetch starts behind the last sound *record*: the corrupt entry's own offset may be
        that of a wrapper, which is the offset of its last message.
        """
        behind = self.next_offset
        if piece.error is None:
            behind = max(behind, piece.next_offset)  # all in front of it was read whole
        elif piece.rows:
            behind = piece.rows[-1][0] + 1
        elif piece.runs:
            behind = piece.runs[-1].last_offset + 1
        end = min(behind, self.wanted.until_offset)
        parts = list(parts_of(piece, end, self._settings.part_bytes))
        self._advance(end)
        if self._suspect_offset == end:
            raise PartitionFailed(self.wanted.topic_partition, end, str(error)) from error
        self._suspect_offset = end
        return parts

    def _grow(self, ask: Ask, cut_off: CutOff | None) -> None:
        """Ask for more where the first entry did not fit; give up where it never will."""
        size, limit = -1 if cut_off is None else cut_off.size_bytes, self._growth_max_bytes
        if size > limit or ask.max_bytes >= limit:
            raise MessageTooLarge(self.wanted.topic_partition, ask.offset, size, limit)
        # Doubled where its size is not known, or was asked for and did not come.
        grown = size if size > ask.max_bytes else ask.max_bytes * 2
        self._needed_bytes = min(grown, limit)

    def _pass_gap(self, high_watermark: int, now_ms: int) -> None:
        """Conclude from an empty answer.

        A broker may read the log first and its end later, so one such answer tells little. But what
        the last one saw below its end, and this one does not bring, is not in the log: compaction
        took it out. (Not so what this one does not see below its end: another leader has it yet to
        learn how far consumers may read.)
        """
        seen = min(self._high_watermark, high_watermark, self.wanted.until_offset)
        self._advance(seen)
        self._high_watermark = high_watermark
        self._note_absence(now_ms, is_absent=self.next_offset >= high_watermark)

    def _note_absence(self, now_ms: int, *, is_absent: bool) -> None:
        if not is_absent:
            self._absent_since_ms = None
        elif self._absent_since_ms is None:
            self._absent_since_ms = now_ms

    def _lose(self, end: int, reason: str, log_start_offset: int = -1) -> LostRange:
        tp, start = self.wanted.topic_partition, self.next_offset
        if self._settings.fail_on_data_loss:
            raise DataLost(tp, start, end, reason)
        self._advance(end)
        return LostRange(
            topic_partition=tp,
            from_offset=start,
            until_offset=end,
            log_start_offset=log_start_offset,
            reason=reason,
        )
