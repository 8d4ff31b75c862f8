"""What is delegated to a native loop, what is kept, and how it comes back."""

from tests.support.chunks import T0, T1, ListSink, claim_of
from tests.support.fetch_answers import about, fetched, lost_in
from tests.support.record_sets import records
from tests.support.session_bench import OTHER, SETTINGS, request_of, session_with
from zkconsumer.error_codes import ErrorCode
from zkconsumer.fetch.claim import Chunk, ChunkSink, PartitionClaim
from zkconsumer.fetch.delegation import Delegation, NativeDelegate, Returned
from zkconsumer.fetch.session import FetchSession, LeaderUnusable
from zkconsumer.model import TopicPartition
from zkconsumer.records.build import build_message_set

DATA = memoryview(build_message_set(records(0, 1)))


def has_capacity(_sink: ChunkSink) -> bool:
    """There is room everywhere."""
    return True


def has_none(_sink: ChunkSink) -> bool:
    """There is room nowhere."""
    return False


def lender(session: FetchSession) -> NativeDelegate:
    """A lender for whom every queue is a native one."""
    return NativeDelegate(session, lambda _sink: True)


def delegated(delegation: Delegation | None) -> list[TopicPartition]:
    """The partitions of a loan."""
    assert delegation is not None
    return [position.claim.topic_partition for position in delegation.positions]


def back(**changes: object) -> Returned:
    """A partition that comes back as it went."""
    return Returned(0, 0)._replace(**changes)  # type: ignore[arg-type]


def three(sink: ListSink | None = None) -> tuple[FetchSession, list[PartitionClaim]]:
    """A session with three partitions, the first two of one queue."""
    shared = sink or ListSink()
    claims = [claim_of(T0, sink=shared), claim_of(T1, sink=shared), claim_of(OTHER)]
    return session_with(*((claim, 0) for claim in claims)), claims


def test_what_is_plain_is_lent_with_its_part() -> None:
    """All of it, and nothing waits."""
    session, _ = three()
    delegation = lender(session).delegate(has_capacity)
    assert delegated(delegation) == [T0, T1, OTHER]
    assert delegation is not None
    assert (delegation.part_bytes, delegation.others_wait) == (SETTINGS.fetch_bytes, False)


def test_nothing_is_lent_where_a_queue_is_not_native() -> None:
    """The loop in Python serves all of it then."""
    session, claims = three()
    partly = NativeDelegate(session, lambda sink: sink is claims[2].sink)
    assert partly.delegate(has_capacity) is None


def test_a_claim_that_was_given_up_is_not_lent() -> None:
    """Nor one without an offset."""
    session, claims = three()
    claims[0].active = False
    session.positions()[1].fetch_offset = None
    assert delegated(lender(session).delegate(has_capacity)) == [OTHER]


def test_a_chunk_that_waits_keeps_its_whole_queue() -> None:
    """Nothing may pass it; and no broker is to wait for data meanwhile."""
    session, claims = three()
    session.hold(Chunk(claims[0], 0, 1, records(0), 1))
    delegation = lender(session).delegate(has_capacity)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_an_entry_that_needs_more_is_asked_for_first() -> None:
    """By the session itself, if its queue has room; else its queue is kept."""
    session, _ = three()
    session.positions()[0].needed_bytes = SETTINGS.fetch_bytes + 1
    one = lender(session)
    assert one.delegate(has_capacity) is None
    delegation = one.delegate(has_none)
    assert delegated(delegation) == [OTHER]
    assert delegation is not None
    assert delegation.others_wait


def test_what_comes_back_is_where_the_session_goes_on() -> None:
    """Offset, need and what is packed; a place that was suspect has been passed."""
    session, claims = three()
    one = lender(session)
    delegation = one.delegate(has_capacity)
    assert delegation is not None
    delegation.positions[0].suspect_offset = 0
    at_byte = len(build_message_set(records(0)))
    packed = (DATA, 0, 1_000, at_byte, 0, True)
    one.take_back(delegation, [back(fetch_offset=1, packed=packed), back(needed_bytes=70), back()])
    first, second, _ = session.positions()
    assert (first.fetch_offset, first.suspect_offset) == (1, None)
    assert first.packed is not None
    assert (first.packed.at_byte, first.packed.is_kept) == (at_byte, True)
    assert second.needed_bytes == 70
    chunk = session.unpack(claims[0], 1_000_000)
    assert chunk is not None
    assert [record.offset for record in chunk.records] == [1]


def test_those_who_had_their_turn_stand_at_the_end_in_its_order() -> None:
    """As if the session had given them their turns."""
    session, _ = three()
    one = lender(session)
    delegation = one.delegate(has_capacity)
    assert delegation is not None
    one.take_back(delegation, [back(turn=9), back(), back(turn=4)])
    assert [p.claim.topic_partition for p in session.positions()] == [T1, OTHER, T0]


def test_what_is_odd_is_unpacked_by_the_session_and_not_lent_before() -> None:
    """What is plain and packed is left to the native loop."""
    session, claims = three()
    one = lender(session)
    delegation = one.delegate(has_capacity)
    assert delegation is not None
    packed = (DATA, 0, 1_000, 0, 0, True)
    states = [back(packed=packed, is_unsupported=True), back(), back(packed=packed)]
    one.take_back(delegation, states)
    assert one.keeps(session.packed()) == [claims[0]]
    assert delegated(one.delegate(has_capacity)) == [OTHER]
    session.unpack(claims[0], 1_000_000)
    one.forget_unpacked()
    assert delegated(one.delegate(has_capacity)) == [T1, T0, OTHER]


def test_an_error_code_is_heard_as_if_the_session_had_asked() -> None:
    """The partition's leader is lost; what had its turn as well is no matter."""
    session, _ = three()
    one = lender(session)
    delegation = one.delegate(has_capacity)
    assert delegation is not None
    code = int(ErrorCode.NOT_LEADER_FOR_PARTITION)
    outcomes = one.take_back(
        delegation, [back(), back(fetch_offset=5, error_code=code, turn=1), back()]
    )
    assert lost_in(outcomes) == [(T1, 5)]
    assert len(session) == 2


def test_what_an_answer_left_out_goes_back_to_the_leader_finder() -> None:
    """As in Python. Not under a claim that was given up meanwhile."""
    session, (one, two, _) = three()
    delegation = lender(session).delegate(has_capacity)
    assert delegation is not None
    two.active = False
    returned = [back(is_left_out=True), back(is_left_out=True), back()]
    (lost,) = lender(session).take_back(delegation, returned)
    assert isinstance(lost, LeaderUnusable)
    assert (lost.claim, lost.fetch_offset) == (one, 0)
    assert lost.reason == "Fetch: the answer leaves it out"


def test_the_session_answers_for_what_it_asked_itself_in_between() -> None:
    """A loan changes nothing of that."""
    session, claims = three()
    response = fetched(T0, bytes(DATA))
    session.receive_fetch(about(request_of(session), response), response)
    assert lender(session).keeps(session.packed()) == []
    assert delegated(lender(session).delegate(has_capacity)) == [T0, T1, OTHER]
    assert claims[0].high_watermark == 100
