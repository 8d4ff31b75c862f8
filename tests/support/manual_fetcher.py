"""A fetcher without connection or thread: tests read its requests and pass it responses."""

from collections.abc import Mapping

from zkconsumer.cluster.offset_times import read_times, times_request
from zkconsumer.fetch.claim import Chunk, PartitionClaim
from zkconsumer.fetch.core.completed import Unpacked, unpack
from zkconsumer.fetch.core.incremental import without_session
from zkconsumer.fetch.core.planning import plan_fetch, plan_lookups
from zkconsumer.fetch.core.requests import (
    entries_of,
    fetch_request,
    left_out,
    requested_in,
    responses_of,
)
from zkconsumer.fetch.core.starts import EARLIEST, LATEST
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.fetch.stream_partitions import Outcome, StreamPartitions
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse
from zkconsumer.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse

BROKER = Broker(0, "broker", 9092)


class ManualFetcher(StreamPartitions):
    """The fetch states of one broker's partitions, with requests and responses by hand.

    Attributes:
        has_hard_bounds: whether only partitions have a size limit, not the whole response.
    """

    def __init__(self, settings: FetchSettings) -> None:
        super().__init__(settings, BROKER, lambda: None)
        self.has_hard_bounds = True

    def fetch_request(self) -> FetchRequest | None:
        """Return the next fetch request, not counted as sent; None if there is none to send."""
        self.begin_turn()
        plan = plan_fetch(self.states, BROKER, 0, has_hard_bounds=self.has_hard_bounds)
        if not plan.wanted:
            return None
        entries = entries_of(without_session(plan.wanted, {}))
        return fetch_request(self.states.settings, entries, max_wait_ms=plan.max_wait_ms)

    def receive_fetch(self, request: FetchRequest, response: FetchResponse) -> tuple[Outcome, ...]:
        """Process a response to a request; its records stay packed."""
        return self.receive(requested_in(request), response)

    def receive(
        self, entries: Mapping[TopicPartition, FetchPartition], response: FetchResponse
    ) -> tuple[Outcome, ...]:
        """Process a response to a request with these entries."""
        wanted, responses = self.requests_of(entries), responses_of(response)
        settings = self.states.settings
        self.states.arrived(
            [
                (wanted[tp], part, unpack(wanted[tp], part, settings, 0))
                if not part.error_code
                else (wanted[tp], part, Unpacked())
                for tp, part in responses.items()
                if tp in wanted
            ],
            0,
        )
        absent = left_out(wanted, responses, response.throttle_time_ms)
        self.states.left_out([wanted[tp] for tp in absent], 0)
        self.states.unanswered(wanted.values())
        return tuple(self.settle(self.states.take_effects().lost))

    def piece(self, claim: PartitionClaim, free_bytes: int) -> Chunk | None:
        """Unpack the next piece of a partition's records."""
        return self.unpack(claim, free_bytes, 0)

    def offsets_request(self) -> ListOffsetsRequest | None:
        """Return the request for start offsets; None if all are known."""
        resets = plan_lookups(self.states, 0).resets
        edges = {lookup.topic_partition: int(edge) for lookup, edge in resets}
        return times_request(edges) if edges else None

    def ends_requests(self) -> tuple[ListOffsetsRequest, ListOffsetsRequest] | None:
        """Return the requests for both ends of logs; None if no offset is in doubt."""
        doubtful = [lookup.topic_partition for lookup in plan_lookups(self.states, 0).edges]
        if not doubtful:
            return None
        return (
            times_request(dict.fromkeys(doubtful, int(EARLIEST))),
            times_request(dict.fromkeys(doubtful, int(LATEST))),
        )

    def receive_offsets(self, response: ListOffsetsResponse) -> tuple[Outcome, ...]:
        """Process the response with start offsets."""
        lookups = [lookup for lookup, _ in plan_lookups(self.states, 0).resets]
        self.states.begin_lookups(lookups)
        outcomes = self.take_starts(lookups, read_times(response, version=0), 0)
        self.states.unanswered_lookups(lookups)
        self.states.take_effects()
        return tuple(outcomes)

    def receive_ends(
        self, starts: ListOffsetsResponse, ends: ListOffsetsResponse
    ) -> tuple[Outcome, ...]:
        """Process the responses with both ends of logs."""
        lookups = plan_lookups(self.states, 0).edges
        self.states.begin_lookups(lookups)
        both_ends = (read_times(starts, version=0), read_times(ends, version=0))
        outcomes = self.take_ends(lookups, *both_ends, 0)
        self.states.take_effects()
        return tuple(outcomes)
