"""Reads the messages of a query: fixed ranges of the logs, bounded in bytes and time."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from zkconsumer.browse.decoding import BytesDecoder, Form
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import (
    BrowseLimits,
    MessageQuery,
    backwards,
    positions_after,
    ranges_of,
    skipped_offsets,
)
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import TimeLookup
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.fetch.range_reader import LostRange, RangePart, RangeReader, RangeSettings
from zkconsumer.model import OffsetRange, Record, TopicPartition
from zkconsumer.records.rows import Headers
from zkconsumer.schemas.wire_format import VALUE_HEADER

_FETCH_BYTES: Final = 1 << 20
_PART_BYTES: Final = 1 << 18
_LEAST_BYTES: Final = 1 << 16
_GROWTH_BYTES: Final = 32 << 20
_UNPACKED_BYTES: Final = 64 << 20
_RECORD_BYTES: Final = 32
"""The bytes counted for a record besides its contents, since a hostile record may be empty."""
_HEADER_BYTES: Final = 256
"""The bytes counted for a header besides its contents, since a hostile header may be empty."""
_HEADERS_MAX_BYTES: Final = 1 << 18
"""Larger headers of a part are not decoded: two bytes in the log take hundreds in memory."""
_NO_TIME: Final = "the time limit was reached"
_NO_BYTES: Final = "the byte limit of one query was reached"


class MessageBrowser:
    """Reads the messages of queries; joins no group and commits nothing. Thread: one.

    Args:
        client: the client of the cluster; its owner closes it.
        decoder: turns bytes into text.
        limits: the limits of one query.
        clock: the time source.
    """

    def __init__(
        self,
        client: ClusterClient,
        decoder: BytesDecoder,
        *,
        limits: BrowseLimits | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._client = client
        self._decoder = decoder
        self._limits = limits or BrowseLimits()
        self._clock = clock or SystemClock()

    def read(self, query: MessageQuery) -> BrowseResult:
        """Return the messages that match a query.

        Raises:
            ConfigError: there is no such topic or partition.
            ZkConsumerError: no broker responds.
        """
        end_ms = self._clock.now_ms() + self._limits.max_ms
        view = self._client.view([query.topic], timeout_ms=self._left_ms(end_ms))
        partitions = _partitions_of(query, view)
        logs, notes = self._logs(view, partitions, end_ms)
        since = {}
        if query.start == "time" and logs:
            lookup = TimeLookup(self._client, timeout_ms=self._left_ms(end_ms))
            since = dict(lookup.since(dict.fromkeys(logs, query.at)).offsets)
        ranges = ranges_of(query, logs, since)
        scan = _Scan(partial(self._reader, end_ms), self._decoder, query, self._clock, end_ms)
        budget = max(_LEAST_BYTES, self._limits.max_bytes // max(1, len(ranges)))
        for range_ in ranges:
            if self._clock.now_ms() < end_ms:
                scan.read(range_, budget)
            elif query.start != "positions":
                notes.append(f"{range_.topic_partition}: not read: the time limit was reached")
        return BrowseResult(
            messages=scan.found,
            scanned=scan.scanned,
            notes=(*notes, *skipped_offsets(query, logs), *scan.notes),
            positions=positions_after(query, partitions, logs, scan.positions),
        )

    def _left_ms(self, end_ms: int) -> int:
        return max(1, end_ms - self._clock.now_ms())

    def _reader(self, end_ms: int) -> RangeReader:
        left_ms = self._left_ms(end_ms)
        return RangeReader(
            self._client,
            settings=RangeSettings(
                client_id="zkconsumer-browse",
                fetch_bytes=_FETCH_BYTES,
                growth_max_bytes=_GROWTH_BYTES,
                timeout_ms=left_ms,
                poll_timeout_ms=left_ms,
                max_wait_ms=100,
                retries=1,
                max_decompressed_bytes=_UNPACKED_BYTES,
                part_bytes=_PART_BYTES,
                fail_on_data_loss=False,
            ),
            clock=self._clock,
        )

    def _logs(
        self, view: ClusterView, partitions: Sequence[TopicPartition], end_ms: int
    ) -> tuple[dict[TopicPartition, tuple[int, int]], list[str]]:
        """Return start and end of the logs, and notes about logs whose ends are unknown."""
        led = [tp for tp in partitions if tp in view.leaders]
        starts, ends = (
            self._client.list_offsets(dict.fromkeys(led, time), timeout_ms=self._left_ms(end_ms))
            for time in (EARLIEST, LATEST)
        )
        logs = {
            tp: (start.offset, end.offset)
            for tp in led
            if isinstance(start := starts.get(tp), TimedOffset)
            and isinstance(end := ends.get(tp), TimedOffset)
        }
        return logs, [f"{tp} has no leader that responds" for tp in partitions if tp not in logs]


def _partitions_of(query: MessageQuery, view: ClusterView) -> list[TopicPartition]:
    numbers = view.partitions.get(query.topic) or ()
    if not numbers:
        raise ConfigError(f"there is no topic {query.topic}")
    if query.partition is None:
        return [TopicPartition(query.topic, number) for number in numbers]
    if query.partition not in numbers:
        raise ConfigError(f"topic {query.topic} has no partition {query.partition}")
    return [TopicPartition(query.topic, query.partition)]


@dataclass(slots=True)
class _Piece:
    """The result of reading a range.

    Attributes:
        next_offset: the offset where reading would continue.
        found: the messages that pass the filter.
        scanned: the number of messages read.
        size: their approximate size in bytes.
        cut: why the range was not read to its end; "" if it was, or enough was found.
    """

    next_offset: int
    found: list[SeenMessage] = field(default_factory=list)
    scanned: int = 0
    size: int = 0
    cut: str = ""


class _Scan:
    """Scans ranges, and keeps the messages that pass the filter."""

    def __init__(
        self,
        reader: Callable[[], RangeReader],
        decoder: BytesDecoder,
        query: MessageQuery,
        clock: Clock,
        end_ms: int,
    ) -> None:
        self._reader = reader
        self._decoder = decoder
        self._query = query
        self._clock = clock
        self._end_ms = end_ms
        self._is_last = query.start == "last"
        self._follows = query.start == "positions"
        self.found: list[SeenMessage] = []
        self.scanned = 0
        self.notes: list[str] = []
        self.positions: dict[TopicPartition, int] = {}

    def read(self, range_: OffsetRange, budget: int) -> None:
        """Scan a range until enough is found, or a limit is reached."""
        if self._is_last:
            found = self._last(range_, self._query.limit, budget // 2)
            if found is None:  # the messages are large: read as many as fit, from the last one on
                found = self._last(range_, 1, budget // 2) or []
        else:
            piece = self._piece(range_, budget)
            found = piece.found
            self.scanned += piece.scanned
            is_whole = not piece.cut and len(found) < self._query.limit
            ended = range_.until_offset if is_whole else piece.next_offset
            self.positions[range_.topic_partition] = ended
            # A query that continues this one starts there.
            goes_on = self._follows and piece.next_offset > range_.from_offset
            if piece.cut and not (goes_on and piece.cut in {_NO_BYTES, _NO_TIME}):
                where = f"up to offset {piece.next_offset} of {range_.until_offset}"
                self.notes.append(f"{range_.topic_partition}: read {where}: {piece.cut}")
        found = sorted(
            self.found + found,
            key=lambda message: (message.timestamp, message.partition, message.offset),
        )
        limit = len(found) if self._follows else self._query.limit
        self.found = found[-limit:] if self._is_last else found[:limit]

    def _last(self, range_: OffsetRange, size: int, budget: int) -> list[SeenMessage] | None:
        """Return the last messages that pass; None if the first piece, of several, is too large."""
        found: list[SeenMessage] = []
        for requested in backwards(range_, size):
            piece = self._piece(requested, budget)
            if piece.cut and size > 1 and requested.until_offset == range_.until_offset:
                return None
            self.scanned += piece.scanned
            if piece.cut:
                where = f"from offset {requested.until_offset} on"
                self.notes.append(f"{range_.topic_partition}: read {where}: {piece.cut}")
                break
            found = piece.found + found
            budget -= piece.size
            if len(found) >= self._query.limit:
                break
        return found

    def _piece(self, range_: OffsetRange, budget: int) -> _Piece:
        piece = _Piece(range_.from_offset)
        try:
            with closing(self._reader().read(range_)) as parts:
                for part in parts:
                    if isinstance(part, LostRange):
                        self.notes.append(f"{part.range_}: {part.reason}")
                        continue
                    self._scan(range_.topic_partition, part, piece)
                    if not self._is_last and len(piece.found) >= self._query.limit:
                        break
                    if piece.next_offset < range_.until_offset:
                        piece.cut = piece.cut or (_NO_BYTES if piece.size >= budget else "")
                        if piece.cut:
                            break
        except ZkConsumerError as error:
            piece.cut = str(error)
        return piece

    def _scan(self, tp: TopicPartition, part: RangePart, piece: _Piece) -> None:
        header_bytes = part.header_bytes()
        is_bounded = header_bytes <= _HEADERS_MAX_BYTES
        headers = part.headers() if is_bounded else {}
        if not is_bounded:
            piece.size += header_bytes
            note = f"headers of about {header_bytes:,} bytes are not shown"
            self.notes.append(f"{tp} from offset {piece.next_offset} on: {note}")
        for record in part.records():
            if self._clock.now_ms() >= self._end_ms:
                piece.cut = _NO_TIME
                return
            named = headers.get(record.offset, ())
            message = self._wanted(tp, record, named)
            piece.size += _RECORD_BYTES + len(record.key or b"") + len(record.value or b"")
            piece.size += sum(
                _HEADER_BYTES + len(name) + len(value or b"") for name, value in named
            )
            piece.scanned += 1
            piece.next_offset = record.offset + 1
            if message is not None:
                piece.found.append(message)
        piece.next_offset = part.next_offset

    def _wanted(self, tp: TopicPartition, record: Record, headers: Headers) -> SeenMessage | None:
        """Return the message to show; None if it does not pass the filter."""
        passes, form = self._query.passes, self._query.form
        if passes is None:
            return self._message(tp, record, headers, form)
        message = self._message(tp, record, headers, "auto")
        if not passes(message):
            return None
        return message if form == "auto" else self._message(tp, record, headers, form)

    def _message(
        self, tp: TopicPartition, record: Record, headers: Headers, form: Form
    ) -> SeenMessage:
        decode = partial(self._decoder.decode, form=form)
        schema = next((value for name, value in headers if name == VALUE_HEADER), None)
        return SeenMessage(
            topic=tp.topic,
            partition=tp.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            raw_key=record.key,
            raw_value=record.value,
            key=decode(record.key),
            value=decode(record.value, schema),
            headers=tuple((name, decode(value)) for name, value in headers),
        )
