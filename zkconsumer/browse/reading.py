"""Reads messages for a look: fixed ranges of the logs, bounded in bytes and time."""

from collections import deque
from collections.abc import Sequence
from contextlib import closing
from typing import Final

from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import BrowseResult, SeenMessage
from zkconsumer.browse.query import BrowseLimits, MessageQuery, ranges_of
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import EARLIEST, LATEST, ClusterClient, TimedOffset
from zkconsumer.cluster.time_lookup import TimeLookup
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


class MessageBrowser:
    """Looks at messages. Thread: one.

    It joins no group and commits nothing.

    Args:
        client: of the cluster; stays the caller's.
        decoder: makes text of bytes.
        limits: of one look.
        clock: for the time limit.
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
        """Return the messages that are wanted.

        Raises:
            ConfigError: there is no such topic or partition.
            ZkConsumerError: no broker responds.
        """
        end_ms = self._clock.now_ms() + self._limits.max_ms
        logs, notes = self._logs(query, self._partitions(query))
        since = {}
        if query.start == "time" and logs:
            lookup = TimeLookup(self._client, timeout_ms=self._limits.max_ms)
            since = dict(lookup.since(dict.fromkeys(logs, query.at)).offsets)
        ranges = ranges_of(query, logs, since)
        scan = _Scan(self._decoder, query, self._clock, end_ms)
        budget = max(_LEAST_BYTES, self._limits.max_bytes // max(1, len(ranges)))
        for range_ in ranges:
            left_ms = end_ms - self._clock.now_ms()
            if left_ms <= 0:
                notes.append(f"{range_.topic_partition}: not read: the time is used up")
                continue
            try:
                scan.read(self._reader(left_ms), range_, budget)
            except ZkConsumerError as error:
                notes.append(str(error))
        messages = sorted(scan.found, key=lambda one: (one.timestamp, one.partition, one.offset))
        last = query.start == "last"
        return BrowseResult(
            messages=messages[-query.limit :] if last else messages[: query.limit],
            scanned=scan.scanned,
            notes=(*notes, *scan.notes),
        )

    def _reader(self, left_ms: int) -> RangeReader:
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

    def _partitions(self, query: MessageQuery) -> list[TopicPartition]:
        view = self._client.view([query.topic], timeout_ms=self._limits.max_ms)
        numbers = view.partitions.get(query.topic) or ()
        if not numbers:
            raise ConfigError(f"there is no topic {query.topic}")
        if query.partition is None:
            return [TopicPartition(query.topic, number) for number in numbers]
        if query.partition not in numbers:
            raise ConfigError(f"topic {query.topic} has no partition {query.partition}")
        return [TopicPartition(query.topic, query.partition)]

    def _logs(
        self, query: MessageQuery, partitions: Sequence[TopicPartition]
    ) -> tuple[dict[TopicPartition, tuple[int, int]], list[str]]:
        """Return start and end of the logs, and what is said of those that are not known."""
        view = self._client.view([query.topic], timeout_ms=self._limits.max_ms)
        led = [tp for tp in partitions if tp in view.leaders]
        starts, ends = (
            self._client.list_offsets(dict.fromkeys(led, time), timeout_ms=self._limits.max_ms)
            for time in (EARLIEST, LATEST)
        )
        logs = {
            tp: (start.offset, end.offset)
            for tp in led
            if isinstance(start := starts.get(tp), TimedOffset)
            and isinstance(end := ends.get(tp), TimedOffset)
        }
        return logs, [f"{tp} has no leader that answers" for tp in partitions if tp not in logs]


class _Scan:
    """Scans ranges, and keeps what is wanted of them."""

    def __init__(
        self, decoder: BytesDecoder, query: MessageQuery, clock: Clock, end_ms: int
    ) -> None:
        self._decoder = decoder
        self._query = query
        self._clock = clock
        self._end_ms = end_ms
        self.found: list[SeenMessage] = []
        self.scanned = 0
        self.notes: list[str] = []

    def read(self, reader: RangeReader, range_: OffsetRange, budget: int) -> None:
        """Scan a range until enough is found, or a bound is met."""
        last = self._query.start == "last"
        kept: deque[SeenMessage] = deque(maxlen=self._query.limit if last else None)
        with closing(reader.read(range_)) as parts:
            for part in parts:
                if isinstance(part, LostRange):
                    continue
                budget -= self._scan(range_.topic_partition, part, kept)
                if not last and len(kept) >= self._query.limit:
                    break
                if part.next_offset < range_.until_offset and self._is_over(range_, part, budget):
                    break
        self.found += kept

    def _is_over(self, range_: OffsetRange, part: RangePart, budget: int) -> bool:
        late = self._clock.now_ms() >= self._end_ms
        if budget <= 0 or late:
            self.notes.append(
                f"{range_.topic_partition}: read up to offset {part.next_offset} of "
                f"{range_.until_offset}: {'the time' if late else 'as many bytes as one look may'} "
                "is used up"
            )
        return budget <= 0 or late

    def _scan(self, tp: TopicPartition, part: RangePart, kept: deque[SeenMessage]) -> int:
        headers, size = part.headers(), 0
        for record in part.records():
            named = headers.get(record.offset, ())
            message = self._message(tp, record, named)
            size += len(record.key or b"") + len(record.value or b"")
            size += sum(len(name) + len(value or b"") for name, value in named)
            self.scanned += 1
            if self._query.passes is None or self._query.passes(message):
                kept.append(message)
        return size

    def _message(self, tp: TopicPartition, record: Record, headers: Headers) -> SeenMessage:
        decode = self._decoder.decode
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
