"""Plans the writes of a repair against nodes that were just read, and how to undo it (pure).

Every planned write has the node's version, so that it fails after a concurrent write. One gap
remains: an ephemeral node that was deleted and created again in between has the same version. So
deletes of ephemeral nodes are offered only if no live client creates them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from zkconsumer.printable import shown
from zkconsumer.status.doctor.fix import Fix, Write, session_name
from zkconsumer.zk.store import DeleteOp, SetOp, ZNode

Nodes = Mapping[str, ZNode | None]
"""The current nodes by path; None if absent."""
GONE: Final = "it is gone"
"""Why a node that was to be deleted needs no write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedWrite:
    """A write as an operation of ZooKeeper; the write must be saved before that is done."""

    op: DeleteOp | SetOp
    write: Write


@dataclass(frozen=True, slots=True, kw_only=True)
class FixPlan:
    """The plan of a repair.

    Attributes:
        writes: in the order of the fix; independent of each other.
        skipped: reasons why writes are omitted, by path.
        refused: why nothing at all is written; None if it may be.
    """

    writes: tuple[PlannedWrite, ...] = ()
    skipped: Mapping[str, str]
    refused: str | None = None


def plan_fix(fix: Fix, nodes: Nodes, children: Mapping[str, Sequence[str] | None]) -> FixPlan:
    """Plan a repair against the current nodes.

    Args:
        fix: the repair.
        nodes: of all of ``fix.paths``; missing keys count as absent nodes.
        children: the names below each of ``fix.childless``, None for absent nodes.
    """
    refused = _refusal(fix, nodes, children)
    if refused is not None:
        return FixPlan(refused=refused, skipped={})
    planned: list[PlannedWrite] = []
    skipped: dict[str, str] = {}
    for write in fix.writes:
        step = _plan_write(write, nodes.get(write.path))
        if isinstance(step, PlannedWrite):
            planned.append(step)
        else:
            skipped[write.path] = step
    return FixPlan(writes=tuple(planned), skipped=skipped)


def _refusal(fix: Fix, nodes: Nodes, children: Mapping[str, Sequence[str] | None]) -> str | None:
    for path in fix.absent:
        if nodes.get(path) is not None:
            return f"{path} exists by now"
    for path in fix.childless:
        if below := children.get(path):
            return f"{path} has {len(below)} by now: {', '.join(sorted(below)[:3])}"
    return None


def _plan_write(write: Write, node: ZNode | None) -> PlannedWrite | str:
    """Return the planned write, or why the node is left alone."""
    if node is None:
        return GONE
    owner = node.ephemeral_owner
    if owner != write.session_id:
        return f"it is now {f'of {session_name(owner)}' if owner else 'a persistent node'}"
    if node.data != write.before:
        return f"it now holds {shown(node.data.decode('utf-8', 'replace'))}"
    return PlannedWrite(
        op=DeleteOp(write.path, node.version)
        if write.after is None
        else SetOp(write.path, write.after, node.version),
        write=write,
    )
