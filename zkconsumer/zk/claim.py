"""One attempt to claim partitions: creates all owner nodes, or undoes what it did.

The nodes are created without reading first, since most of them don't exist. Only those that fail
are read, and judged by the session that created the node:

- the node is gone: created in the next round;
- this session's, with our text: a success whose response was lost, or a partition never released;
- this session's, with another text: another of our own threads had it; the text is replaced;
- another session's: a conflict.
"""

from collections.abc import Mapping, Sequence

from zkconsumer.errors import RegistryError
from zkconsumer.zk.store import CreateOp, DeleteOp, Op, OpError, SetOp, ZkStore, ZNode

MAX_ROUNDS = 5
_EXPECTED = frozenset(
    {OpError.NODE_EXISTS, OpError.NO_NODE, OpError.BAD_VERSION, OpError.ROLLED_BACK}
)


OPS_PER_MULTI = 100
MULTIS_IN_FLIGHT = 20


class ClaimAttempt:
    """One attempt to claim all owner nodes of ``wanted``, which has the text for each path."""

    def __init__(self, store: ZkStore, wanted: Mapping[str, bytes], session_id: int) -> None:
        self._store = store
        self._wanted = wanted
        self._session_id = session_id
        self.created: list[str] = []
        self.replaced: dict[str, bytes] = {}
        self.claimed = False
        self.rolled_back = False
        self.parents_missing = False

    def run(self) -> None:
        """Claim all partitions, or none if others hold some or parents are missing.

        Afterwards ``claimed`` is the outcome, ``created`` and ``replaced`` are the changes made,
        and ``rolled_back`` is whether changes were undone.

        Raises:
            RegistryError: no response, or access denied. After the former it is unknown what was
                claimed; after the latter, nothing is.
        """
        ops: list[Op] = [
            CreateOp(path, text, ephemeral=True) for path, text in self._wanted.items()
        ]
        nodes: dict[str, ZNode | None] = {}
        for _ in range(MAX_ROUNDS):
            failed, unsent = self._write(ops, nodes)
            if not failed:
                self.claimed = True
                return
            # Read the nodes that failed first: usually another session's is among them, and the
            # rest need not be read.
            failing = [path for path, error in failed.items() if error is not OpError.ROLLED_BACK]
            nodes = self._read(failing)
            if self.parents_missing or any(self._is_foreign(node) for node in nodes.values()):
                break
            # Nodes of this session come from a claim whose response was lost, as the unsent ones
            # probably do: read all, or each round would get only one transaction further.
            rest = [path for path in (*failed, *(op.path for op in unsent)) if path not in nodes]
            nodes |= self._read(rest)
            if any(self._is_foreign(node) for node in nodes.values()):
                break
            ops = [op for path, node in nodes.items() for op in self._next_op(path, node)]
        self._roll_back()

    def _write(
        self, ops: list[Op], before: Mapping[str, ZNode | None]
    ) -> tuple[dict[str, OpError], list[Op]]:
        """Write one round and record it; return the errors by path, and the operations not sent."""
        errors = write_until_failure(self._store, ops, self._session_id)
        failed: dict[str, OpError] = {}
        self.parents_missing = False
        for op, error in zip(ops, errors, strict=False):
            node = before.get(op.path)
            if error is not None:
                failed[op.path] = error
                self.parents_missing |= error is OpError.NO_NODE and isinstance(op, CreateOp)
            elif isinstance(op, SetOp) and node is not None:
                self.replaced[op.path] = node.data
            else:
                self.created.append(op.path)
        for path, error in failed.items():
            if error not in _EXPECTED:
                self._roll_back()
                raise RegistryError(f"owner node {path} could not be written: {error}")
        return failed, ops[len(errors) :]

    def _read(self, paths: list[str]) -> dict[str, ZNode | None]:
        return dict(zip(paths, self._store.get_many(paths), strict=True))

    def _is_foreign(self, node: ZNode | None) -> bool:
        return node is not None and node.ephemeral_owner != self._session_id

    def _next_op(self, path: str, node: ZNode | None) -> list[Op]:
        text = self._wanted[path]
        if node is None:
            return [CreateOp(path, text, ephemeral=True)]
        return [] if node.data == text else [SetOp(path, text, node.version)]

    def _roll_back(self) -> None:
        self.rolled_back = self.rolled_back or bool(self.created or self.replaced)
        restore: list[Op] = [SetOp(path, text) for path, text in self.replaced.items()]
        if restore:
            self._store.write_many(restore, session_id=self._session_id)
        mine = {path: self._wanted[path] for path in self.created}
        delete_own(self._store, mine, self._read(list(mine)), self._session_id)
        self.created.clear()
        self.replaced.clear()


def delete_own(
    store: ZkStore,
    wanted: Mapping[str, bytes],
    nodes: Mapping[str, ZNode | None],
    session_id: int,
) -> list[str]:
    """Delete the nodes that this session created and that hold exactly this text.

    There is no race between the read and the delete: only this session can have created a node
    that it owns, and a delete that arrives after the session's end is refused.

    Args:
        store: the client.
        wanted: the text of each node by path.
        nodes: the nodes, just read or remembered.
        session_id: this session.

    Returns:
        The paths that were deleted.

    Raises:
        RegistryError: no response, or access denied.
    """
    ops = _delete_ops(wanted, nodes, session_id)
    errors = write_until_failure(store, ops, session_id)
    deleted = [op.path for op, error in zip(ops, errors, strict=False) if error is None]
    # A node that vanished or changed meanwhile fails its whole transaction; the rest is read
    # again, and deleted one by one.
    failed = [op.path for op, error in zip(ops, errors, strict=False) if error is not None]
    left = failed + [op.path for op in ops[len(errors) :]]
    again = dict(zip(left, store.get_many(left) if left else [], strict=True))
    ops = _delete_ops({path: wanted[path] for path in left}, again, session_id)
    # Called even if nothing is left to delete: it raises if the session has ended.
    return deleted + _delete_singly(store, ops, session_id)


def _delete_ops(
    wanted: Mapping[str, bytes], nodes: Mapping[str, ZNode | None], session_id: int
) -> list[Op]:
    return [
        DeleteOp(path, node.version)
        for path, text in wanted.items()
        if (node := nodes[path]) is not None
        and node.ephemeral_owner == session_id
        and node.data == text
    ]


def _delete_singly(store: ZkStore, ops: list[Op], session_id: int) -> list[str]:
    deleted: list[str] = []
    for op, error in zip(ops, store.write_many(ops, session_id=session_id), strict=True):
        if error is None:
            deleted.append(op.path)
        elif error not in {OpError.NO_NODE, OpError.BAD_VERSION}:
            raise RegistryError(f"owner node {op.path} could not be deleted: {error}")
    return deleted


def write_until_failure(store: ZkStore, ops: Sequence[Op], session_id: int) -> list[OpError | None]:
    """Write ``ops`` in this order; return None or the error of each operation that was sent.

    With transactions, up to ``OPS_PER_MULTI`` operations succeed or fail together. The result is
    shorter than ``ops`` if the rest was not sent after a failure: conflicts are part of every
    rebalance, and futile writes wake every watcher.
    """
    errors: list[OpError | None] = []
    window = OPS_PER_MULTI  # the first batch is sent alone: it finds most conflicts
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
