"""Many writes: in transactions if the server supports them, else one by one.

The first batch goes alone, and nothing is sent after a failure: conflicts are part of every
rebalance, and writes in vain wake every watcher. A conflict mostly shows in the first batch, so the
others are then sent at once.
"""

from collections.abc import Sequence

from zkconsumer.zk.store import Op, OpError, ZkStore

OPS_PER_MULTI = 100
MULTIS_IN_FLIGHT = 20


def write_until_failure(store: ZkStore, ops: Sequence[Op], session_id: int) -> list[OpError | None]:
    """Write ``ops`` in this order; return for each one sent None or why it did not happen.

    With transactions an operation happens together with up to ``OPS_PER_MULTI`` others or not
    at all. The result is shorter than ``ops`` if a failure kept the rest from being sent.
    """
    errors: list[OpError | None] = []
    window = OPS_PER_MULTI  # the first batch goes alone: it meets most conflicts
    while len(errors) < len(ops) and not any(errors):
        errors += _write_window(store, ops[len(errors) : len(errors) + window], session_id)
        window = OPS_PER_MULTI * MULTIS_IN_FLIGHT
    return errors


def _write_window(store: ZkStore, ops: Sequence[Op], session_id: int) -> list[OpError | None]:
    if not store.supports_multi:
        return store.write_many(ops, session_id=session_id)
    batches = [ops[at : at + OPS_PER_MULTI] for at in range(0, len(ops), OPS_PER_MULTI)]
    results = store.multi_many(batches, session_id=session_id)
    return [error for result in results for error in result.errors]
