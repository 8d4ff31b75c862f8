"""One attempt to claim: creates all of the owner nodes, or takes back what it did.

The nodes are created blindly, since most often nobody else has them. Only what fails is read, and
judged by the session that made the node:

- nobody's any more: created in the next round;
- this session's, with our text: a success whose answer was lost, or a partition never released;
- this session's, with another text: another of our own threads had it; the text is replaced;
- another session's: a conflict.
"""

from collections.abc import Mapping

from zkconsumer.errors import RegistryError
from zkconsumer.zk.op_writer import write_until_failure
from zkconsumer.zk.store import CreateOp, DeleteOp, Op, OpError, SetOp, ZkStore, ZNode

MAX_ROUNDS = 5
_EXPECTED = frozenset(
    {OpError.NODE_EXISTS, OpError.NO_NODE, OpError.BAD_VERSION, OpError.ROLLED_BACK}
)


class ClaimAttempt:
    """One attempt; ``wanted`` is the text for each path."""

    def __init__(self, store: ZkStore, wanted: Mapping[str, bytes], session_id: int) -> None:
        self._store = store
        self._wanted = wanted
        self._session_id = session_id
        self._created: list[str] = []
        self._replaced: dict[str, bytes] = {}
        self.parents_missing = False

    def run(self) -> bool:
        """Claim all (True), or nothing (False: somebody else holds some, or parents are missing).

        Raises:
            RegistryError: no answer, or access denied. After the former it is not known what was
                claimed; after the latter, nothing is.
        """
        ops: list[Op] = [
            CreateOp(path, text, ephemeral=True) for path, text in self._wanted.items()
        ]
        nodes: dict[str, ZNode | None] = {}
        for _ in range(MAX_ROUNDS):
            failed, unsent = self._write(ops, nodes)
            if not failed:
                return True
            nodes = dict(zip(failed, self._store.get_many(failed), strict=True))
            if self.parents_missing or any(self._is_foreign(node) for node in nodes.values()):
                break
            ops = [op for path, node in nodes.items() for op in self._next_op(path, node)] + unsent
        self._roll_back()
        return False

    def _write(
        self, ops: list[Op], before: Mapping[str, ZNode | None]
    ) -> tuple[list[str], list[Op]]:
        """Write one round, remember what happened; gives the paths that failed, and the unsent."""
        errors = write_until_failure(self._store, ops, self._session_id)
        failed: dict[str, OpError] = {}
        self.parents_missing = False
        for op, error in zip(ops, errors, strict=False):
            node = before.get(op.path)
            if error is not None:
                failed[op.path] = error
                self.parents_missing |= error is OpError.NO_NODE and isinstance(op, CreateOp)
            elif isinstance(op, SetOp) and node is not None:
                self._replaced[op.path] = node.data
            else:
                self._created.append(op.path)
        for path, error in failed.items():
            if error not in _EXPECTED:
                self._roll_back()
                raise RegistryError(f"owner node {path} could not be written: {error}")
        return list(failed), ops[len(errors) :]

    def _is_foreign(self, node: ZNode | None) -> bool:
        return node is not None and node.ephemeral_owner != self._session_id

    def _next_op(self, path: str, node: ZNode | None) -> list[Op]:
        text = self._wanted[path]
        if node is None:
            return [CreateOp(path, text, ephemeral=True)]
        return [] if node.data == text else [SetOp(path, text, node.version)]

    def _roll_back(self) -> None:
        restore: list[Op] = [SetOp(path, text) for path, text in self._replaced.items()]
        if restore:
            self._store.write_many(restore, session_id=self._session_id)
        mine = {path: self._wanted[path] for path in self._created}
        delete_own(self._store, mine, self._session_id)
        self._created.clear()
        self._replaced.clear()


def delete_own(store: ZkStore, wanted: Mapping[str, bytes], session_id: int) -> None:
    """Delete those nodes that this session made and that hold exactly this text.

    Reading first does not leave a gap: nobody but this session can have made a node that it owns,
    and a delete that comes after the session's end is refused.

    Raises:
        RegistryError: no answer, or access denied.
    """
    nodes = dict(zip(wanted, store.get_many(list(wanted)), strict=True))
    ops: list[Op] = [
        DeleteOp(path, node.version)
        for path, node in nodes.items()
        if node is not None and node.ephemeral_owner == session_id and node.data == wanted[path]
    ]
    errors = write_until_failure(store, ops, session_id)
    # One that vanished meanwhile fails its whole transaction; what is left goes one by one.
    failed = [op for op, error in zip(ops, errors, strict=False) if error is not None]
    left = failed + ops[len(errors) :]
    for op, error in zip(left, store.write_many(left, session_id=session_id), strict=True):
        if error not in {None, OpError.NO_NODE, OpError.BAD_VERSION}:
            raise RegistryError(f"owner node {op.path} could not be deleted: {error}")
