"""Storages in which a drain has begun, and their plans."""

from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.plan import BatchPlan
from zkconsumer.drain.storage import Storage

DRAIN = "0123abcd"


def begin(storage: Storage, drain: str = DRAIN) -> None:
    """Write the identity of a drain, as a run to an Iceberg table does."""
    identity = DrainIdentity(
        id=drain,
        created_ms=0,
        cluster="zk",
        subscription="subscribe=t",
        starting="earliest",
        group=None,
        format="iceberg",
    )
    BatchJournal(storage).begin(identity, "a")


def plans_of(journal: BatchJournal) -> list[BatchPlan]:
    """Read all plans, in order."""
    last = journal.read_state().plan
    return [] if last is None else [journal.plan(number) for number in range(1, last.number + 1)]
