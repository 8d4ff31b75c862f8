"""Where reading of one fixed range stands: pure state, and what each answer does to it.

The rule: every record of the range that the log holds comes once, in order, and what the log does
not hold is either a gap (compaction) or is said to be lost; nothing is passed over in silence.

Source: Spark 4 ``KafkaDataConsumer`` for what counts as lost. Unlike there, a gap is told from a
loss by what the leader says of its log, never by a time-out.
"""

from dataclasses import dataclass, replace
from enum import Enum, auto

from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import CorruptRecord, DataLost, MessageTooLarge, PartitionFailed
from zkconsumer.fetch.ahead import look_ahead
from zkconsumer.fetch.range_parts import (
    Aborted,
    LostRange,
    PieceDecoder,
    RangePart,
    RangePiece,
    decode_native,
    decode_piece,
    decode_pure,
    parts_of,
)
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.record_set import Reading, RecordSet, after_piece, judged
from zkconsumer.model import OffsetRange
from zkconsumer.records.entries import HEADER_BYTES
from zkconsumer.records.transactions import IsolationLevel, readable_end
from zkconsumer.wire.messages.fetch import FetchedPartition

_MOST_BYTES = 2**31 - 1
_LEAST_BYTES = 64 * 1024
_PURE_EXPANSION = 4
"""How much larger than in the log small records are as Python objects."""
_FIRST_GUESS_BYTES = 1024
"""What an offset may take in the log, before anything of the range was seen."""


class ResponseKind(Enum):
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
class RangeRequest:
    """What to fetch."""

    offset: int
    max_bytes: int


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
        self._packed: RecordSet | None = None
        # Of committed records alone; see ``_decode_piece``.
        self._aborted: Aborted | None = None
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

    def request(self) -> RangeRequest | None:
        """What to fetch, with nothing left to unpack; None at the end of the range."""
        return self._request_at(self.next_offset)

    def next_request(self) -> RangeRequest | None:
        """What to fetch next, by the headers of what came; None where they are not looked at.

        It is a guess, which ``request`` confirms or not when all is unpacked.
        """
        packed = self._packed
        if packed is None or self._decode is not decode_native:
            return None
        ahead = look_ahead(packed.data, packed.fetch_offset)
        if ahead is None:
            return None
        self._learn(packed, ahead.next_offset, ahead.needed_bytes)
        return self._request_at(ahead.next_offset)

    def receive(
        self, request: RangeRequest, response: FetchedPartition, now_ms: int
    ) -> ResponseKind:
        """Take an answer, with nothing left to unpack.

        Raises:
            PartitionFailed: the broker refuses to serve the partition.
        """
        code = response.error_code
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return ResponseKind.OUT_OF_RANGE
        if code != ErrorCode.NONE:
            error = ErrorCode.of(code)
            if error.retriable or error.refresh_metadata or error is ErrorCode.UNKNOWN:
                return ResponseKind.ELSEWHERE
            reason = f"the broker refuses to serve it: {error_name(code)}: {error.text}"
            raise PartitionFailed(self.wanted.topic_partition, self.next_offset, reason)
        end = self._log_end(response)
        if response.records:
            # Nobody writes to an answer that came: what is made of it may point into it.
            packed = judged(
                RecordSet(response.records.toreadonly(), request.offset, request.max_bytes),
                high_watermark=response.high_watermark,
                is_again=self._suspect_offset == request.offset,
                max_decompressed_bytes=self._settings.max_decompressed_bytes,
            )
            if packed is not None and (
                packed.data or packed.misplaced is not None or end > request.offset
            ):
                self._packed = packed
                self._aborted = (
                    (response.aborted_transactions or ()) if self._is_committed else None
                )
                return ResponseKind.ARRIVED
        # A message that seemed to need more is not there any more.
        self._needed_bytes = 0
        self._pass_gap(end, now_ms)
        return ResponseKind.EMPTY

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
        if self._aborted is not None:
            # A reader of committed records begins at the answer's start with every piece.
            packed = replace(packed, at_byte=0)
        reading = after_piece(
            packed,
            piece,
            last_offset=piece.last_offset,
            growth_max_bytes=self._growth_max_bytes,
        )
        end = min(max(self.next_offset, reading.next_offset), self.wanted.until_offset)
        parts = list(parts_of(piece, end, self._settings.part_bytes))
        self._advance(end)
        self._packed = reading.rest if end < self.wanted.until_offset else None
        if reading.damage is not None:
            self._take_damage(reading.damage)
        elif self._packed is None and self.next_offset == packed.fetch_offset:
            self._grow(packed, reading)
        elif self._packed is None:
            self._learn(packed, piece.next_offset, reading.needed_bytes)
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

    def _learn(self, packed: RecordSet, behind: int, needed_bytes: int) -> None:
        """Note what the next request is sized by."""
        # It brings at least the entry that this answer ended in the middle of.
        self._needed_bytes = needed_bytes if needed_bytes <= self._growth_max_bytes else 0
        self._bytes_per_offset = len(packed.data) / (behind - packed.fetch_offset)

    def _request_at(self, offset: int) -> RangeRequest | None:
        left = self.wanted.until_offset - offset
        if left <= 0:
            return None
        expected_bytes = int(min(left * self._bytes_per_offset * 1.25, _MOST_BYTES)) + _LEAST_BYTES
        size_bytes = min(self._settings.fetch_bytes, expected_bytes)
        return RangeRequest(
            offset, min(max(size_bytes, self._needed_bytes), self._growth_max_bytes)
        )

    def _decode_piece(self, packed: RecordSet) -> RangePiece:
        bound_bytes = self._settings.max_decompressed_bytes
        enough_bytes = self._settings.part_bytes
        if self._decode is decode_pure:
            enough_bytes = max(1, enough_bytes // _PURE_EXPANSION)
        if self._aborted is not None:
            # Which transactions were aborted is told for an answer from its start on. What lies
            # below the offset is passed over without decompressing it.
            return self._decode(
                packed.data, self.next_offset, bound_bytes, enough_bytes, self._aborted
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

    def _log_end(self, response: FetchedPartition) -> int:
        """How far the log could be read when this was answered."""
        end = readable_end(
            high_watermark=response.high_watermark,
            last_stable_offset=response.last_stable_offset,
            isolation=self._settings.isolation,
        )
        return response.high_watermark if end is None else end

    def _advance(self, offset: int) -> None:
        if offset > self.next_offset:
            self.next_offset = offset
            self._suspect_offset = None
            self._absent_since_ms = None
            self._high_watermark = -1

    def _take_damage(self, error: CorruptRecord) -> None:
        """Ask once more before believing that what follows can't be read."""
        if self._suspect_offset == self.next_offset:
            reason = str(error)
            raise PartitionFailed(self.wanted.topic_partition, self.next_offset, reason) from error
        self._suspect_offset = self.next_offset

    def _grow(self, packed: RecordSet, reading: Reading) -> None:
        """Ask for more where the first entry did not fit; give up where it never will.

        One partition is asked for, so what was asked for and did not come is asked for in a larger
        fetch: that it never comes must not go on for ever.
        """
        limit, needed_bytes = self._growth_max_bytes, reading.needed_bytes
        if needed_bytes <= packed.requested_bytes:
            needed_bytes = packed.requested_bytes * 2
        if reading.too_large is not None or packed.requested_bytes >= limit:
            size = reading.needed_bytes if reading.too_large is None else reading.too_large[0]
            raise MessageTooLarge(self.wanted.topic_partition, packed.fetch_offset, size, limit)
        self._needed_bytes = min(needed_bytes, limit)

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
