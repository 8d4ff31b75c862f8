"""Reads fixed ranges of offsets from the leaders: for whoever knows what he wants.

Spark's tasks do, and ``replay``. There is no group, no ZooKeeper, and no thread in this. The next
request leaves before the last answer is handed out, so that the broker works while the caller does.

Source: Spark 1.x ``KafkaRDD`` (the simple consumer's protocol), Spark 4 ``KafkaDataConsumer``.
"""

import contextlib
import logging
from collections.abc import Callable, Generator, Iterator

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.error_codes import error_name
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.leader_connection import LeaderConnection, Way
from zkconsumer.fetch.range_parts import LostRange, PieceDecoder, RangePart, decode_piece
from zkconsumer.fetch.range_settings import RangeSettings
from zkconsumer.fetch.ranges import RangeCursor, RangeRequest, ResponseKind
from zkconsumer.model import Broker, OffsetRange
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.fetch import FetchedPartition

__all__ = ["LostRange", "RangePart", "RangeReader", "RangeSettings"]

log = logging.getLogger(__name__)


class RangeReader:
    """Thread: one for each range that is being read; several may be.

    Example::

        reader = RangeReader(client, settings=RangeSettings())
        for part in reader.read(OffsetRange(topic_partition=tp, from_offset=0, until_offset=100)):
            ...

    Args:
        client: knows who leads, and keeps the connections; it stays the caller's. A client without
            time for a second round leaves all tries to the settings.
        settings: sizes, times, and what to do about losses.
        clock: for time-outs.
        pause: waits so many milliseconds.
        decoder: what decodes; by default that of the engine.
    """

    def __init__(
        self,
        client: ClusterClient,
        *,
        settings: RangeSettings,
        clock: Clock | None = None,
        pause: Callable[[int], None] = wait_ms,
        decoder: PieceDecoder = decode_piece,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._way = Way(client=client, settings=settings, clock=self._clock, pause=pause)
        self._decoder = decoder

    def read(
        self, wanted: OffsetRange, *, leader: Broker | None = None
    ) -> Generator[RangePart | LostRange, None, None]:
        """Read a range: every record of it that the log holds, once, in order.

        Whoever stops early closes the iterator (a generator), which lets go of the connection.

        Args:
            wanted: the range.
            leader: who led the partition last; asked first. Without it the brokers are asked.

        Yields:
            Parts with records, and what is lost in between (without ``fail_on_data_loss``). Where
            compaction took records out there are gaps, of which nothing is said.

        Raises:
            DataLost: offsets are not there, with ``fail_on_data_loss``.
            PartitionFailed: an entry can't be read; the broker refuses to serve the partition; or
                nobody served it for as long as the settings say.
            MessageTooLarge: an entry is larger than the largest fetch allowed.
            AuthenticationFailed: a broker and we don't agree on who we are.
            UnsupportedVersion: a broker is none that can be spoken with.
        """
        cursor = RangeCursor(wanted, self._settings, decoder=self._decoder)
        line = LeaderConnection(wanted.topic_partition, self._way, leader=leader)
        with contextlib.closing(line):
            while (request := cursor.request()) is not None:
                yield from self._turn(cursor, line, request)

    def _turn(
        self, cursor: RangeCursor, line: LeaderConnection, request: RangeRequest
    ) -> Iterator[RangePart | LostRange]:
        try:
            response = line.fetch(request)
        except PartitionFailed as error:
            if not line.is_unknown:
                raise
            yield self._described(cursor.lose_rest(f"its topic is gone: {error}"))
            return
        if response is None:
            cursor.forget_end()
            return
        match cursor.receive(request, response, self._clock.now_ms()):
            case ResponseKind.ARRIVED:
                yield from self._deliver_to(cursor, line)
            case ResponseKind.EMPTY:
                yield from self._after_empty(cursor, line)
            case ResponseKind.OUT_OF_RANGE:
                yield from self._out_of_range(cursor, line)
            case ResponseKind.ELSEWHERE:
                cursor.forget_end()
                line.failed(request.offset, _reason(response))

    def _deliver_to(self, cursor: RangeCursor, line: LeaderConnection) -> Iterator[RangePart]:
        line.send_ahead(cursor.next_request())
        while cursor.has_packed():
            before = cursor.next_offset
            parts = cursor.unpack()
            if cursor.next_offset > before:
                line.progressed()
            if not cursor.has_packed():
                line.send_ahead(cursor.request())
            yield from parts

    def _after_empty(self, cursor: RangeCursor, line: LeaderConnection) -> Iterator[LostRange]:
        lost = cursor.give_up_absent(self._clock.now_ms())
        if lost is not None:
            yield self._described(lost)
        elif cursor.is_absent:
            # What the next leader has may be more, or this one did not hear of its end yet.
            line.look_again()

    def _out_of_range(self, cursor: RangeCursor, line: LeaderConnection) -> Iterator[LostRange]:
        edges = line.edges(cursor.next_offset)
        if edges is None:
            cursor.forget_end()
            return
        lost = cursor.receive_edges(*edges, self._clock.now_ms())
        if lost is not None:
            yield self._described(lost)
        elif cursor.is_absent:
            line.look_again()
        else:
            line.failed(cursor.next_offset, "Fetch: the offset is out of range, and it is not")

    def _described(self, lost: LostRange) -> LostRange:
        log.warning("%s is lost: %s", lost.range_, lost.reason)
        return lost


def _reason(response: FetchedPartition) -> str:
    return f"Fetch: {error_name(response.error_code)}"
