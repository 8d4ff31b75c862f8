"""Storages in which a drain has begun."""

from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.storage import Storage

DRAIN = "0123abcd"


def begin(storage: Storage, drain: str = DRAIN) -> None:
    """Write the identity of a drain to an Iceberg table."""
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
