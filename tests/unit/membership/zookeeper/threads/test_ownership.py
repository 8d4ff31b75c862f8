"""The record of claims: opening, revoking, fencing."""

from tests.support.chunks import T0, T1, chunk_of, ignore
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.streams.chunk_queue import ChunkQueue


def test_an_open_claim_starts_at_the_committed_offset() -> None:
    """Consumed and committed are the stored offset; delivered is nothing yet."""
    owned, queue = OwnedClaims(), ChunkQueue(1)
    claim = owned.open(T0, queue, 7, session_id=1)
    assert (claim.consumed_offset, claim.committed_offset, claim.delivered_offset) == (7, 7, None)
    assert claim.sink is queue
    assert owned.claims() == [claim]
    assert len(owned) == 1


def test_a_partition_has_a_claim_while_it_is_read() -> None:
    """It has none before and after, and other partitions have none."""
    owned = OwnedClaims()
    assert owned.claim_of(T0) is None
    claim = owned.open(T0, ChunkQueue(1), 7, session_id=1)
    assert owned.claim_of(T0) is claim
    assert owned.claim_of(T1) is None
    owned.revoke([T0])
    assert owned.claim_of(T0) is None


def test_revoking_ends_delivery_at_once_and_frees_the_queue() -> None:
    """The claim keeps its offsets for the commit; its queued records are dropped, others stay."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    first_claim, second_claim = owned.open(T0, queue, 7, 1), owned.open(T1, queue, 3, 1)
    first, second = chunk_of(first_claim, [7]), chunk_of(second_claim, [3])
    queue.offer(first, ignore)
    queue.offer(second, ignore)
    assert owned.revoke([T0]) == [first_claim]
    assert (first_claim.active, second_claim.active) == (False, True)
    assert (list(first.records), first_claim.consumed_offset) == ([], 7)
    assert [record.offset for record in second.records] == [3]
    assert owned.claims() == [second_claim]


def test_revoking_a_partition_without_a_claim_does_nothing() -> None:
    """A partition with an unusable offset never had a claim."""
    owned = OwnedClaims()
    assert owned.revoke([T0]) == []


def test_revoking_everything_removes_all_claims() -> None:
    """This includes claims that a lost session ended before."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    claims = [owned.open(T0, queue, 1, 1), owned.open(T1, queue, 2, 1)]
    claims[0].active = False
    assert owned.revoke_all() == claims
    assert (len(owned), owned.claims()) == (0, [])


def test_a_new_claim_of_the_same_partition_is_another_one() -> None:
    """The old claim stays inactive."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    old = owned.open(T0, queue, 1, 1)
    owned.revoke([T0])
    new = owned.open(T0, queue, 5, 1)
    assert new is not old
    assert (old.active, new.active) == (False, True)


def test_a_lost_session_ends_delivery_of_its_claims() -> None:
    """It ends before the control thread knows; none of these claims can be committed any more."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    claim = owned.open(T0, queue, 1, session_id=11)
    owned.fence(11)
    assert not claim.active
    assert owned.claims() == []


def test_a_late_event_of_an_earlier_session_fences_nothing() -> None:
    """Claims of the new session stay active."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    owned.open(T0, queue, 1, session_id=11)
    owned.revoke_all()
    claim = owned.open(T0, queue, 1, session_id=12)
    owned.fence(11)
    assert claim.active


def test_an_unreadable_partition_is_stopped_until_it_is_revoked() -> None:
    """Once it is revoked it does not count as stopped: it is another member's to read."""
    owned = OwnedClaims()
    owned.refuse(T0)
    owned.refuse(T1)
    assert owned.stopped() == {T0, T1}
    owned.revoke([T0])
    assert owned.stopped() == {T1}
    owned.revoke_all()
    assert owned.stopped() == frozenset()
