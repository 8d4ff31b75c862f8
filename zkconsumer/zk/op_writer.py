"""Many writes: in transactions where the server knows them, one by one where it does not.

The first goes alone, and none follows after one has failed: a conflict is part of every rebalance,
and what is written in vain wakes up everybody who watches. It mostly meets the first; so the others
are on their way at once.
"""

from collections.abc import Sequence

from zkconsumer.zk.store import Op, OpError, ZkStore

OPS_PER_MULTI = 100
MULTIS_IN_FLIGHT = 20


def write_until_failure(store: ZkStore, ops: Sequence[Op], session_id: int) -> list[OpError | None]:
    """Write ``ops`` in this order; gives for each that was sent None or why it did not happen.

    With transactions an operation happens together with its up to ``OPS_PER_MULTI`` fellows or not
    at all. The answer is shorter than ``ops`` when a failure kept the rest from being sent.
    """
    errors: list[OpError | None] = []
    window = OPS_PER_MULTI  # the first goes alone: it meets most conflicts
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
