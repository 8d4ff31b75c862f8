"""The book of claims: opening, giving up, fencing."""

from tests.support.chunks import T0, T1, chunk_of, ignore
from zkconsumer.membership.zookeeper.threads.ownership import OwnedClaims
from zkconsumer.streams.chunk_queue import ChunkQueue


def test_an_open_claim_starts_at_the_committed_offset() -> None:
    """Consumed and committed are what the store said; delivered is nothing yet."""
    owned, queue = OwnedClaims(), ChunkQueue(1)
    claim = owned.open(T0, queue, 7, session_id=1)
    assert (claim.consumed_offset, claim.committed_offset, claim.delivered_offset) == (7, 7, None)
    assert claim.sink is queue
    assert owned.claims() == [claim]
    assert len(owned) == 1


def test_a_partition_has_a_claim_while_it_is_read() -> None:
    """Neither before nor after, nor one of another partition."""
    owned = OwnedClaims()
    assert owned.claim_of(T0) is None
    claim = owned.open(T0, ChunkQueue(1), 7, session_id=1)
    assert owned.claim_of(T0) is claim
    assert owned.claim_of(T1) is None
    owned.revoke([T0])
    assert owned.claim_of(T0) is None


def test_revoking_ends_delivery_at_once_and_frees_the_queue() -> None:
    """The claim keeps its offsets for the commit; its queued records are gone, others stay."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    one, two = owned.open(T0, queue, 7, 1), owned.open(T1, queue, 3, 1)
    first, second = chunk_of(one, [7]), chunk_of(two, [3])
    queue.offer(first, ignore)
    queue.offer(second, ignore)
    assert owned.revoke([T0]) == [one]
    assert (one.active, two.active) == (False, True)
    assert (list(first.records), one.consumed_offset) == ([], 7)
    assert [record.offset for record in second.records] == [3]
    assert owned.claims() == [two]


def test_revoking_what_is_not_there_does_nothing() -> None:
    """A partition whose offset was unusable was never opened."""
    owned = OwnedClaims()
    assert owned.revoke([T0]) == []


def test_revoking_everything_empties_the_book() -> None:
    """Also of claims that a lost session ended before."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    claims = [owned.open(T0, queue, 1, 1), owned.open(T1, queue, 2, 1)]
    claims[0].active = False
    assert owned.revoke_all() == claims
    assert (len(owned), owned.claims()) == (0, [])


def test_a_new_claim_of_the_same_partition_is_another_one() -> None:
    """The old object stays dead."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    old = owned.open(T0, queue, 1, 1)
    owned.revoke([T0])
    new = owned.open(T0, queue, 5, 1)
    assert new is not old
    assert (old.active, new.active) == (False, True)


def test_a_lost_session_ends_delivery_of_what_was_claimed_under_it() -> None:
    """At once, before the control thread knows: nothing of it counts for a commit any more."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    claim = owned.open(T0, queue, 1, session_id=11)
    owned.fence(11)
    assert not claim.active
    assert owned.claims() == []


def test_late_news_of_an_earlier_session_fences_nothing() -> None:
    """What was claimed under the new session goes on."""
    owned, queue = OwnedClaims(), ChunkQueue(10)
    owned.open(T0, queue, 1, session_id=11)
    owned.revoke_all()
    claim = owned.open(T0, queue, 1, session_id=12)
    owned.fence(11)
    assert claim.active


def test_what_could_not_be_read_is_stopped_until_it_is_given_up() -> None:
    """Then it is another member's to try, and nothing of ours that stands still."""
    owned = OwnedClaims()
    owned.refuse(T0)
    owned.refuse(T1)
    assert owned.stopped() == {T0, T1}
    owned.revoke([T0])
    assert owned.stopped() == {T1}
    owned.revoke_all()
    assert owned.stopped() == frozenset()
