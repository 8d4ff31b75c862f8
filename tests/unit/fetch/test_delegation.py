"""Which partitions are delegated to the native loop, and how they are taken back."""

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_responses import fetched, lost_partitions, requested_about
from tests.support.manual_fetcher import ManualFetcher
from tests.support.record_sets import records
from tests.support.stream_fetchers import OTHER, SETTINGS, fetcher_with, request_of
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.core.delegated import Returned
from zkconsumer.fetch.delegation import Delegation, NativeDelegate
from zkconsumer.fetch.stream_partition import LeaderUnusable
from zkconsumer.fetch.stream_partitions import Outcome
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set

DATA = memoryview(build_message_set(records(0, 1)))


def has_capacity(_sink: ChunkSink) -> bool:
    """Every queue has capacity."""
    return True


def has_no_capacity(_sink: ChunkSink) -> bool:
    """No queue has capacity."""
    return False


def delegate_of(fetcher: ManualFetcher) -> NativeDelegate:
    """Build a delegate for which every queue is a native one."""
    return NativeDelegate(fetcher, lambda _sink: True)


def delegated(delegation: Delegation | None) -> list[TopicPartition]:
    """Return the partitions of a delegation."""
    assert delegation is not None
    return [part.claim.topic_partition for part in delegation.parts]


def returned_with(**changes: object) -> Returned:
    """Build a returned partition without changes unless given."""
    return Returned(0, 0)._replace(**changes)  # type: ignore[arg-type]


def take_back(
    delegate_of: NativeDelegate,
    fetcher: ManualFetcher,
    delegation: Delegation,
    returned: list[Returned],
) -> list[Outcome]:
    """Take partitions back and return the outcomes."""
    delegate_of.take_back(delegation, returned, 0)
    return fetcher.settle(fetcher.states.take_effects().lost)


def fetcher_of_three(sink: ListSink | None = None) -> tuple[ManualFetcher, list[PartitionClaim]]:
    """Build a fetcher with three partitions, the first two of one queue."""
    shared = sink or ListSink()
    claims = [claim_of(T0, sink=shared), claim_of(T1, sink=shared), claim_of(OTHER)]
    return fetcher_with(*((claim, 0) for claim in claims)), claims


def test_supported_partitions_are_delegated_with_their_part() -> None:
    """All of them are delegated, and none waits."""
    fetcher, _ = fetcher_of_three()
    delegation = delegate_of(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegated(delegation) == [T0, T1, OTHER]
    assert delegation is not None
    assert (delegation.part_bytes, delegation.others_wait) == (SETTINGS.max_partition_bytes, False)


def test_nothing_is_delegated_if_a_queue_is_not_native() -> None:
    """The Python loop then serves all partitions."""
    fetcher, claims = fetcher_of_three()
    partly = NativeDelegate(fetcher, lambda sink: sink is claims[2].sink)
    assert partly.delegate(has_capacity, has_hard_bounds=True) is None


def test_an_inactive_claim_is_not_delegated() -> None:
    """Nor is a claim without an offset."""
    fetcher, claims = fetcher_of_three()
    claims[0].active = False
    fetcher.add(claims[1], None)
    assert delegated(delegate_of(fetcher).delegate(has_capacity, has_hard_bounds=True)) == [OTHER]


def test_a_pending_chunk_keeps_all_partitions_of_its_queue() -> None:
    """Nothing may overtake it, and no broker may wait for records meanwhile."""
    fetcher, claims = fetcher_of_three()
    fetcher.hold(Chunk(claims[0], 0, 1, records(0), 1))
    delegation = delegate_of(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_a_large_entry_is_fetched_before_anything_is_delegated() -> None:
    """The fetcher requests it itself if its queue has capacity; otherwise its queue is kept."""
    fetcher, _ = fetcher_of_three()
    fetcher.in_turn()[0].state.needed_bytes = SETTINGS.max_partition_bytes + 1
    delegate = delegate_of(fetcher)
    assert delegate.delegate(has_capacity, has_hard_bounds=True) is None
    delegation = delegate.delegate(has_no_capacity, has_hard_bounds=True)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_the_fetcher_continues_at_the_returned_state() -> None:
    """Offset, needed bytes and packed records are taken over; a suspect offset has been passed."""
    fetcher, claims = fetcher_of_three()
    delegate = delegate_of(fetcher)
    delegation = delegate.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    delegation.parts[0].state.suspect_offset = 0
    at_byte = len(build_message_set(records(0)))
    packed = (DATA, 0, 1_000, at_byte, 0, True)
    take_back(
        delegate,
        fetcher,
        delegation,
        [
            returned_with(fetch_offset=1, packed=packed),
            returned_with(needed_bytes=70),
            returned_with(),
        ],
    )
    first, second, _ = fetcher.in_turn()
    assert (first.offset, first.state.suspect_offset) == (1, None)
    assert first.state.packed is not None
    kept = first.state.packed.records
    assert (kept.at_byte, kept.is_kept) == (at_byte, True)
    assert second.state.needed_bytes == 70
    chunk = fetcher.piece(claims[0], 1_000_000)
    assert chunk is not None
    assert [record.offset for record in chunk.records] == [1]


def test_records_reset_the_doubts_about_a_leader() -> None:
    """A leader is believed only if it repeats "out of range" without records in between."""
    fetcher, claims = fetcher_of_three()
    delegate = delegate_of(fetcher)
    delegation = delegate.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    for part in delegation.parts:
        part.state.doubts = part.claim.doubts = 2
    take_back(
        delegate,
        fetcher,
        delegation,
        [returned_with(fetch_offset=5), returned_with(), returned_with()],
    )
    assert [part.state.doubts for part in delegation.parts] == [0, 2, 2]
    assert [claim.doubts for claim in claims] == [0, 2, 2]


def test_partitions_served_by_the_native_loop_go_to_the_end_in_order() -> None:
    """As if the fetcher had served them itself."""
    fetcher, _ = fetcher_of_three()
    delegate = delegate_of(fetcher)
    delegation = delegate.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    take_back(
        delegate,
        fetcher,
        delegation,
        [returned_with(turn=9), returned_with(), returned_with(turn=4)],
    )
    assert [part.claim.topic_partition for part in fetcher.in_turn()] == [T1, OTHER, T0]


def test_unsupported_records_are_unpacked_before_delegating_again() -> None:
    """Supported packed records are left to the native loop."""
    fetcher, claims = fetcher_of_three()
    delegate = delegate_of(fetcher)
    delegation = delegate.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    packed = (DATA, 0, 1_000, 0, 0, True)
    states = [
        returned_with(packed=packed, is_unsupported=True),
        returned_with(),
        returned_with(packed=packed),
    ]
    take_back(delegate, fetcher, delegation, states)
    assert delegate.keeps(has_hard_bounds=True) == [claims[0]]
    assert delegated(delegate.delegate(has_capacity, has_hard_bounds=True)) == [OTHER]
    fetcher.piece(claims[0], 1_000_000)
    delegate.forget_unpacked()
    assert delegated(delegate.delegate(has_capacity, has_hard_bounds=True)) == [T1, T0, OTHER]


def test_an_error_code_counts_as_in_the_fetcher_s_own_response() -> None:
    """The partition loses its leader, even if it was served as well."""
    fetcher, _ = fetcher_of_three()
    delegate = delegate_of(fetcher)
    delegation = delegate.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    code = int(ErrorCode.NOT_LEADER_FOR_PARTITION)
    returned = [
        returned_with(),
        returned_with(fetch_offset=5, error_code=code, turn=1),
        returned_with(),
    ]
    outcomes = take_back(delegate, fetcher, delegation, returned)
    assert lost_partitions(tuple(outcomes)) == [(T1, 5)]
    assert len(fetcher) == 2


def test_a_partition_left_out_of_a_response_returns_to_the_leader_finder() -> None:
    """As in the Python loop; an inactive claim does not."""
    fetcher, (first, second, _) = fetcher_of_three()
    delegation = delegate_of(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    second.active = False
    returned = [returned_with(is_left_out=True), returned_with(is_left_out=True), returned_with()]
    (lost,) = take_back(delegate_of(fetcher), fetcher, delegation, returned)
    assert isinstance(lost, LeaderUnusable)
    assert (lost.claim, lost.fetch_offset) == (first, 0)
    assert lost.reason == "Fetch from broker 0 (broker:9092): the response does not include it"


def test_a_response_to_the_fetcher_s_own_request_is_kept() -> None:
    """Delegating afterwards does not affect it."""
    fetcher, claims = fetcher_of_three()
    response = fetched(T0, bytes(DATA))
    fetcher.receive_fetch(requested_about(request_of(fetcher), response), response)
    delegate = delegate_of(fetcher)
    assert delegate.keeps(has_hard_bounds=True) == []
    assert delegated(delegate.delegate(has_capacity, has_hard_bounds=True)) == [T1, T0, OTHER]
    assert claims[0].high_watermark == 100
