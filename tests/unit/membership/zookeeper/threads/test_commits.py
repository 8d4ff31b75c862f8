"""Which offsets a commit writes, and what the claim records of it."""

from collections.abc import Mapping, Sequence

import pytest

from tests.support.chunks import T0, T1, claim_of
from zkconsumer.errors import OffsetCommitFailed, RegistryError, TransportError, ZkConsumerError
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.membership.zookeeper.threads.commits import (
    OffsetCommitter,
    consumed_offset,
    delivered_offset,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.store import FetchedOffset


class ScriptedStore:
    """An offset store that refuses the commits it is told to."""

    storage = "zookeeper"

    def __init__(self) -> None:
        self.expires = False
        self.refused: dict[TopicPartition, str] = {}
        self.broken: ZkConsumerError | None = None
        self.written: list[dict[TopicPartition, int]] = []
        self.entries: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def fetch(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, FetchedOffset]:
        """Return no offset for each partition."""
        return dict.fromkeys(partitions, FetchedOffset(None))

    def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        retry: bool = False,  # noqa: ARG002 - nothing fails for a time
        rewind: bool = False,  # noqa: ARG002 - nobody else writes
    ) -> dict[TopicPartition, str | None]:
        """See ``OffsetStore``."""
        if self.broken is not None:
            raise self.broken
        self.entries.append(offsets)
        self.written.append(
            {tp: entry.offset for tp, entry in offsets.items() if tp not in self.refused}
        )
        return {tp: self.refused.get(tp) for tp in offsets}


def claim_at(
    consumed: int | None,
    *,
    delivered: int | None = None,
    committed: int | None = None,
    tp: TopicPartition = T0,
) -> PartitionClaim:
    """Return a claim with these offsets."""
    claim = claim_of(tp, committed=committed)
    claim.consumed_offset, claim.delivered_offset = consumed, delivered
    return claim


@pytest.mark.parametrize(
    ("consumed", "delivered", "committed", "automatic", "explicit"),
    [
        # nothing read, nothing new
        (None, None, None, None, None),
        (5, None, 5, None, None),
        (5, 5, 5, None, None),
        # one message in hand, nothing consumed yet
        (5, 6, 5, None, 6),
        # progress
        (7, 8, 5, 7, 8),
        (8, 8, 5, 8, 8),
        # the caller committed the message in hand: that is not undone
        (7, 8, 8, None, None),
        # reading went on from there
        (8, 9, 8, None, 9),
        (9, 10, 8, 9, 10),
        # a group without offsets, the first messages in hand
        (0, 1, None, 0, 1),
        (3, 4, None, 3, 4),
        # an offset from the reset policy, nothing read yet: the next owner starts there
        (0, None, None, 0, 0),
        (30, None, None, 30, 30),
        # the position was reset later, forwards or back
        (100, 100, 7, 100, 100),
        (0, 0, 10_000, 0, 0),
    ],
)
def test_what_each_kind_of_commit_writes(
    consumed: int | None,
    delivered: int | None,
    committed: int | None,
    automatic: int | None,
    explicit: int | None,
) -> None:
    """Automatic commits write the consumed offset, the caller's the delivered one, if it is new."""
    claim = claim_at(consumed, delivered=delivered, committed=committed)
    assert consumed_offset(claim) == automatic
    assert delivered_offset(claim) == explicit


def test_an_offset_committed_before_the_log_was_truncated_does_not_count() -> None:
    """A commit from before the truncation does not count, even if reading is back at its offset."""
    claim = claim_at(149, delivered=150, committed=150)
    claim.explicit_floor = 200
    assert consumed_offset(claim) is None
    claim.jumps_back += 1
    assert consumed_offset(claim) == 149
    OffsetCommitter(ScriptedStore(), "g").commit([claim], consumed_offset)
    assert claim.committed_offset == 149
    assert consumed_offset(claim) is None
    claim.consumed_offset = 151
    assert consumed_offset(claim) == 151


def test_only_new_offsets_are_written() -> None:
    """A second commit of the same offset writes nothing (KAFKA-987)."""
    store = ScriptedStore()
    committer = OffsetCommitter(store, "g")
    claims = [claim_at(7, committed=5), claim_at(3, committed=3, tp=T1)]
    assert committer.commit(claims, consumed_offset) == 1
    assert store.written == [{T0: 7}]
    assert claims[0].committed_offset == 7
    assert committer.commit(claims, consumed_offset) == 0
    assert len(store.written) == 1


def test_a_commit_without_claims_does_not_call_the_store() -> None:
    """Without claims the store is not called."""
    store = ScriptedStore()
    store.broken = RegistryError("away")
    assert OffsetCommitter(store, "g").commit([], consumed_offset) == 0


def test_a_partition_that_is_refused_is_reported_and_the_others_are_written() -> None:
    """The error names it with the reason; it stays due, the others do not."""
    store = ScriptedStore()
    store.refused = {T1: "no"}
    committer = OffsetCommitter(store, "g")
    claims = [claim_at(7), claim_at(9, tp=T1)]
    with pytest.raises(OffsetCommitFailed, match=r"group g.*t-1: no") as raised:
        committer.commit(claims, consumed_offset)
    assert raised.value.failed == {T1: "no"}
    assert [claim.committed_offset for claim in claims] == [7, None]
    store.refused = {}
    assert committer.commit(claims, consumed_offset) == 1
    assert store.written == [{T0: 7}, {T1: 9}]


def test_a_renewal_keeps_the_metadata_of_an_offset() -> None:
    """A store whose offsets expire gets the same entry again; a new offset is a new entry."""
    store = ScriptedStore()
    store.expires = True
    committer = OffsetCommitter(store, "g")
    claim = claim_at(7)
    note = OffsetAndMetadata(7, "a note")
    committer.commit_exactly({T0: claim}, {T0: note}, retry=False)
    committer.commit([claim], consumed_offset)
    claim.consumed_offset = 8
    committer.commit([claim], consumed_offset)
    assert store.entries == [{T0: note}, {T0: note}, {T0: OffsetAndMetadata(8)}]


@pytest.mark.parametrize("error", [RegistryError("away"), TransportError("broker gone")])
def test_a_store_that_does_not_respond_fails_every_partition(error: ZkConsumerError) -> None:
    """Whatever the error, no offset counts as committed."""
    store = ScriptedStore()
    store.broken = error
    claims = [claim_at(7), claim_at(9, tp=T1)]
    with pytest.raises(OffsetCommitFailed) as raised:
        OffsetCommitter(store, "g").commit(claims, consumed_offset)
    assert raised.value.failed == {T0: str(error), T1: str(error)}
    assert [claim.committed_offset for claim in claims] == [None, None]


def test_progress_during_the_write_is_due_the_next_time() -> None:
    """The claim records the written offset, not the stream's position by then."""
    claim = claim_at(7)

    class Slow(ScriptedStore):
        def commit(
            self,
            offsets: Mapping[TopicPartition, OffsetAndMetadata],
            *,
            retry: bool = False,
            rewind: bool = False,
        ) -> dict[TopicPartition, str | None]:
            claim.consumed_offset = 8
            return super().commit(offsets, retry=retry, rewind=rewind)

    store = Slow()
    committer = OffsetCommitter(store, "g")
    committer.commit([claim], consumed_offset)
    assert claim.committed_offset == 7
    committer.commit([claim], consumed_offset)
    assert store.written == [{T0: 7}, {T0: 8}]
