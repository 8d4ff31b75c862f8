"""One partition's log in memory: entries as a broker stores and returns them."""

from collections.abc import Sequence
from typing import NamedTuple

from zkconsumer.errors import CorruptRecord, LocalProtocolError
from zkconsumer.model import Record
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec
from zkconsumer.records.decode import decode_record_set
from zkconsumer.records.entries import entry_at
from zkconsumer.records.legacy import CODEC_MASK

_ATTRIBUTES_AT = 17
_DECOMPRESSED_BYTES = 1 << 26


class LogEntry(NamedTuple):
    """A message or a compressed set; ``offset`` is that of its last record."""

    offset: int
    data: bytes


class FakeLog:
    """A log that assigns offsets to message sets, and truncates what it returns to a size."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.end_offset = 0
        self._entries: list[LogEntry] = []

    def append_records(self, records: Sequence[Record], codec: Codec = Codec.NONE) -> int:
        """Append records; their own offsets are ignored.

        Returns:
            The offset of the first.
        """
        base_offset = self.end_offset
        numbered = [
            record._replace(offset=base_offset + place) for place, record in enumerate(records)
        ]
        sets = [numbered] if codec is not Codec.NONE else [[record] for record in numbered]
        for chosen in filter(None, sets):
            data = build_message_set(chosen, codec=codec)
            self._entries.append(LogEntry(chosen[-1].offset, data))
        self.end_offset += len(numbered)
        return base_offset

    def append_set(self, message_set: bytes | memoryview, *, largest_entry_bytes: int) -> int:
        """Append what a producer sent; all of it or nothing.

        Returns:
            The offset of the first record.

        Raises:
            LocalProtocolError: a message is larger than allowed.
            CorruptRecord: a message fails its checksum or is malformed.
        """
        data = bytes(message_set)
        groups: list[tuple[list[Record], Codec]] = []
        position = 0
        while position < len(data):
            entry = entry_at(data, position)
            if entry is None:
                raise CorruptRecord(
                    "the set is cut off", offset=0, position=position, next_offset=None
                )
            if entry.stop - position > largest_entry_bytes:
                raise LocalProtocolError(f"a message has {entry.stop - position} bytes")
            decoded = decode_record_set(
                data[position : entry.stop],
                fetch_offset=0,
                max_decompressed_bytes=_DECOMPRESSED_BYTES,
            )
            if decoded.error is not None:
                raise decoded.error
            groups.append(
                (list(decoded.records), Codec(data[position + _ATTRIBUTES_AT] & CODEC_MASK))
            )
            position = entry.stop
        base_offset = self.end_offset
        for records, codec in groups:
            self.append_records(records, codec)
        return base_offset

    def append_raw(self, data: bytes, record_count: int = 1) -> int:
        """Append an entry's bytes unchanged, valid or not; return its base offset."""
        base_offset = self.end_offset
        self.end_offset += record_count
        self._entries.append(LogEntry(self.end_offset - 1, data))
        return base_offset

    def delete_before(self, offset: int) -> None:
        """Delete all entries below an offset, as retention does."""
        self.start_offset = offset
        self._entries = [entry for entry in self._entries if entry.offset >= offset]

    def has(self, offset: int) -> bool:
        """Whether a fetch from that offset is in range, which includes the log's end."""
        return self.start_offset <= offset <= self.end_offset

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return at most ``max_bytes`` bytes, from the entry that contains ``offset`` on."""
        data = b"".join(entry.data for entry in self._entries if entry.offset >= offset)
        return data[:max_bytes]

    def edges(self) -> tuple[int, ...]:
        """The end and start offset, as ListOffsets returns them; a single one if they are equal."""
        return tuple(sorted({self.end_offset, self.start_offset}, reverse=True))
