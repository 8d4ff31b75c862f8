"""One partition of a fetcher, which receives record sets and unpacks them piece by piece."""

from tests.support.chunks import claim_of
from tests.support.fetch_responses import fetched, listed
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import ROOM
from zkconsumer.fetch.claim import Chunk
from zkconsumer.fetch.core.partition_state import PartitionState
from zkconsumer.fetch.core.record_set import RecordSet
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partition import StreamPartition
from zkconsumer.fetch.stream_partitions import Outcome
from zkconsumer.wire.messages.fetch import FetchPartition, FetchResponse


class SinglePartitionFetcher:
    """A partition that is fetched from an offset on."""

    def __init__(
        self, settings: FetchSettings, offset: int | None, *, committed: int | None = None
    ) -> None:
        self.fetcher = ManualFetcher(settings)
        self.claim = claim_of(committed=committed)
        self.fetcher.add(self.claim, offset)
        self._settings = settings

    @property
    def part(self) -> StreamPartition:
        """The partition's fetch state of a stream."""
        (part,) = self.fetcher.in_turn()
        return part

    @property
    def state(self) -> PartitionState:
        """The partition's fetch state of the core."""
        return self.part.state

    @property
    def packed(self) -> RecordSet | None:
        """The record set that is not unpacked yet, or None."""
        packed = self.state.packed
        return None if packed is None else packed.records

    @property
    def offset(self) -> int:
        """The offset of the next fetch."""
        return self.part.offset

    def receive(
        self, data: bytes | memoryview, *, requested_bytes: int = 0, high_watermark: int = 1_000
    ) -> None:
        """Receive a record set from that offset on."""
        tp = self.claim.topic_partition
        size = requested_bytes or max(self._settings.max_partition_bytes, self.state.needed_bytes)
        self._respond(fetched(tp, data, high_watermark=high_watermark), size)

    def receive_error(self, code: int) -> tuple[Outcome, ...]:
        """Receive an error code of the partition."""
        return self._respond(fetched(self.claim.topic_partition, error=code), 1)

    def start_at(self, offset: int) -> tuple[Outcome, ...]:
        """Receive the start offset of a lookup."""
        return self.fetcher.receive_offsets(listed(self.claim.topic_partition, offset))

    def _respond(self, response: FetchResponse, size: int) -> tuple[Outcome, ...]:
        tp = self.claim.topic_partition
        entry = FetchPartition(partition=tp.partition, fetch_offset=self.offset, max_bytes=size)
        return self.fetcher.receive({tp: entry}, response)

    def unpack(self, free_bytes: int = ROOM) -> Chunk | None:
        """Unpack the next piece."""
        return self.fetcher.piece(self.claim, free_bytes)

    def take(
        self, data: bytes, *, requested_bytes: int = 0, free_bytes: int = ROOM
    ) -> Chunk | None:
        """Receive a record set, and unpack its first piece."""
        self.receive(data, requested_bytes=requested_bytes)
        return self.unpack(free_bytes)
