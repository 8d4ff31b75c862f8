"""What is delegated to a native loop, what is kept, and how it comes back."""

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_answers import about, fetched, lost_in
from tests.support.fetcher_by_hand import FetcherByHand
from tests.support.record_sets import records
from tests.support.stream_fetchers import OTHER, SETTINGS, fetcher_with, request_of
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.delegation import Delegation, NativeDelegate, Returned
from zkconsumer.fetch.loop import LeaderUnusable
from zkconsumer.fetch.stream_partitions import Outcome
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set

DATA = memoryview(build_message_set(records(0, 1)))


def has_capacity(_sink: ChunkSink) -> bool:
    """There is room everywhere."""
    return True


def has_none(_sink: ChunkSink) -> bool:
    """There is room nowhere."""
    return False


def lender(fetcher: FetcherByHand) -> NativeDelegate:
    """A lender for whom every queue is a native one."""
    return NativeDelegate(fetcher, lambda _sink: True)


def delegated(delegation: Delegation | None) -> list[TopicPartition]:
    """The partitions of a loan."""
    assert delegation is not None
    return [part.claim.topic_partition for part in delegation.parts]


def back(**changes: object) -> Returned:
    """A partition that comes back as it went."""
    return Returned(0, 0)._replace(**changes)  # type: ignore[arg-type]


def take_back(
    lender: NativeDelegate,
    fetcher: FetcherByHand,
    delegation: Delegation,
    returned: list[Returned],
) -> list[Outcome]:
    """What follows from what comes back."""
    lender.take_back(delegation, returned, 0)
    return fetcher.settle(fetcher.states.take_effects().lost)


def three(sink: ListSink | None = None) -> tuple[FetcherByHand, list[PartitionClaim]]:
    """A fetcher with three partitions, the first two of one queue."""
    shared = sink or ListSink()
    claims = [claim_of(T0, sink=shared), claim_of(T1, sink=shared), claim_of(OTHER)]
    return fetcher_with(*((claim, 0) for claim in claims)), claims


def test_what_is_plain_is_lent_with_its_part() -> None:
    """All of it, and nothing waits."""
    fetcher, _ = three()
    delegation = lender(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegated(delegation) == [T0, T1, OTHER]
    assert delegation is not None
    assert (delegation.part_bytes, delegation.others_wait) == (SETTINGS.fetch_bytes, False)


def test_nothing_is_lent_where_a_queue_is_not_native() -> None:
    """The loop in Python serves all of it then."""
    fetcher, claims = three()
    partly = NativeDelegate(fetcher, lambda sink: sink is claims[2].sink)
    assert partly.delegate(has_capacity, has_hard_bounds=True) is None


def test_a_claim_that_was_given_up_is_not_lent() -> None:
    """Nor one without an offset."""
    fetcher, claims = three()
    claims[0].active = False
    fetcher.add(claims[1], None)
    assert delegated(lender(fetcher).delegate(has_capacity, has_hard_bounds=True)) == [OTHER]


def test_a_chunk_that_waits_keeps_its_whole_queue() -> None:
    """Nothing may pass it; and no broker is to wait for data meanwhile."""
    fetcher, claims = three()
    fetcher.hold(Chunk(claims[0], 0, 1, records(0), 1))
    delegation = lender(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_an_entry_that_needs_more_is_asked_for_first() -> None:
    """By the fetcher itself, if its queue has room; else its queue is kept."""
    fetcher, _ = three()
    fetcher.in_turn()[0].state.needed_bytes = SETTINGS.fetch_bytes + 1
    one = lender(fetcher)
    assert one.delegate(has_capacity, has_hard_bounds=True) is None
    delegation = one.delegate(has_none, has_hard_bounds=True)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_what_comes_back_is_where_the_fetcher_goes_on() -> None:
    """Offset, need and what is packed; a place that was suspect has been passed."""
    fetcher, claims = three()
    one = lender(fetcher)
    delegation = one.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    delegation.parts[0].state.suspect_offset = 0
    at_byte = len(build_message_set(records(0)))
    packed = (DATA, 0, 1_000, at_byte, 0, True)
    take_back(
        one,
        fetcher,
        delegation,
        [back(fetch_offset=1, packed=packed), back(needed_bytes=70), back()],
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


def test_what_was_doubted_before_records_came_is_not_counted_on() -> None:
    """A leader that calls an offset out of range is believed when it says so again and again."""
    fetcher, claims = three()
    one = lender(fetcher)
    delegation = one.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    for part in delegation.parts:
        part.state.doubts = part.claim.doubts = 2
    take_back(one, fetcher, delegation, [back(fetch_offset=5), back(), back()])
    assert [part.state.doubts for part in delegation.parts] == [0, 2, 2]
    assert [claim.doubts for claim in claims] == [0, 2, 2]


def test_those_who_had_their_turn_stand_at_the_end_in_its_order() -> None:
    """As if the fetcher had given them their turns."""
    fetcher, _ = three()
    one = lender(fetcher)
    delegation = one.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    take_back(one, fetcher, delegation, [back(turn=9), back(), back(turn=4)])
    assert [part.claim.topic_partition for part in fetcher.in_turn()] == [T1, OTHER, T0]


def test_what_is_odd_is_unpacked_by_the_fetcher_and_not_lent_before() -> None:
    """What is plain and packed is left to the native loop."""
    fetcher, claims = three()
    one = lender(fetcher)
    delegation = one.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    packed = (DATA, 0, 1_000, 0, 0, True)
    states = [back(packed=packed, is_unsupported=True), back(), back(packed=packed)]
    take_back(one, fetcher, delegation, states)
    assert one.keeps(has_hard_bounds=True) == [claims[0]]
    assert delegated(one.delegate(has_capacity, has_hard_bounds=True)) == [OTHER]
    fetcher.piece(claims[0], 1_000_000)
    one.forget_unpacked()
    assert delegated(one.delegate(has_capacity, has_hard_bounds=True)) == [T1, T0, OTHER]


def test_an_error_code_is_heard_as_if_the_fetcher_had_asked() -> None:
    """The partition's leader is lost; what had its turn as well is no matter."""
    fetcher, _ = three()
    one = lender(fetcher)
    delegation = one.delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    code = int(ErrorCode.NOT_LEADER_FOR_PARTITION)
    returned = [back(), back(fetch_offset=5, error_code=code, turn=1), back()]
    outcomes = take_back(one, fetcher, delegation, returned)
    assert lost_in(tuple(outcomes)) == [(T1, 5)]
    assert len(fetcher) == 2


def test_what_an_answer_left_out_goes_back_to_the_leader_finder() -> None:
    """As in Python. Not under a claim that was given up meanwhile."""
    fetcher, (one, two, _) = three()
    delegation = lender(fetcher).delegate(has_capacity, has_hard_bounds=True)
    assert delegation is not None
    two.active = False
    returned = [back(is_left_out=True), back(is_left_out=True), back()]
    (lost,) = take_back(lender(fetcher), fetcher, delegation, returned)
    assert isinstance(lost, LeaderUnusable)
    assert (lost.claim, lost.fetch_offset) == (one, 0)
    assert lost.reason == "Fetch from broker 0 (broker:9092): the response does not include it"


def test_the_fetcher_answers_for_what_it_asked_itself_in_between() -> None:
    """A loan changes nothing of that."""
    fetcher, claims = three()
    response = fetched(T0, bytes(DATA))
    fetcher.receive_fetch(about(request_of(fetcher), response), response)
    one = lender(fetcher)
    assert one.keeps(has_hard_bounds=True) == []
    assert delegated(one.delegate(has_capacity, has_hard_bounds=True)) == [T1, T0, OTHER]
    assert claims[0].high_watermark == 100
