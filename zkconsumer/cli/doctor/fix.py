"""Executes the doctor's repairs one after the other, and undoes them.

Each repair is shown and confirmed; then its nodes are read, compared with the expected state, saved
to the undo file, and written; each write is fenced by the node's version as it was read.
"""

import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from zkconsumer.cli.confirm import confirm
from zkconsumer.cli.doctor.report import finding_lines, write_text
from zkconsumer.cli.doctor.undo_file import UndoFile
from zkconsumer.cli.tables import shows_colour
from zkconsumer.errors import ConfigError
from zkconsumer.printable import printable
from zkconsumer.status.doctor.diagnosis import Diagnosis, Severity
from zkconsumer.status.doctor.fix import Fix, Write
from zkconsumer.status.doctor.fixing import GONE, FixPlan, plan_fix
from zkconsumer.status.doctor.incidents import flatten
from zkconsumer.status.doctor.undo import UNCHANGED, UndoRecord, plan_undo
from zkconsumer.zk.connect_string import parse_connect_string
from zkconsumer.zk.store import DeleteOp, ZkStore

log = logging.getLogger(__name__)

_YES = "yes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Treated:
    """The result of the repairs.

    Attributes:
        repaired: the diagnoses that were repaired completely.
        failed: whether a confirmed write failed.
    """

    repaired: tuple[Diagnosis, ...]
    failed: bool

    def left(self, findings: Sequence[Diagnosis]) -> list[Diagnosis]:
        """Return the unrepaired diagnoses, without consequences of repaired ones."""
        left: list[Diagnosis] = []
        for diagnosis in findings:
            if diagnosis not in self.repaired:
                left += [diagnosis] if diagnosis.severity >= Severity.WARNING else []
                continue
            left += self.left(
                [
                    consequence
                    for consequence in diagnosis.consequences
                    if consequence.fix is not None
                ]
            )
        return left


def repair(store: ZkStore, findings: Sequence[Diagnosis], undo: UndoFile, *, yes: bool) -> Treated:
    """Execute the repair of each diagnosis that has one, after confirmation.

    Raises:
        ConfigError: the undo file exists already; nothing was done.
        OSError: the undo file can't be written; no further repair was done.
        RegistryError: ZooKeeper does not respond. The undo file lists the possible writes.
    """
    repaired: list[Diagnosis] = []
    failed = False
    try:
        for finding in flatten(list(findings)):
            if finding.fix is None or not _wanted(finding, finding.fix, yes=yes):
                continue
            done = _do(store, finding.fix, undo)
            if done is None:
                failed = True
            elif done:
                repaired.append(finding)
    finally:
        if undo.holds_anything:
            _write(f"zkconsumer doctor --undo {undo.path} undoes what was done")
    return Treated(repaired=tuple(repaired), failed=failed)


def undo_repairs(
    store: ZkStore, record: UndoRecord, *, zookeeper: str, name: str, yes: bool
) -> bool:
    """Undo a run's writes, except where nodes have changed since.

    Returns:
        Whether everything is restored.

    Raises:
        ConfigError: the file is of another cluster, or the user did not confirm: nothing was done.
        RegistryError: ZooKeeper does not respond; some writes may be undone.
    """
    _require_same(record.zookeeper, zookeeper, name)
    paths = [write.path for write in record.writes]
    plan = plan_undo(record, dict(zip(paths, store.get_many(paths), strict=True)))
    for path, why in plan.skipped.items():
        _write(f"left unchanged: {path}: {why}")
    whole = all(why == UNCHANGED for why in plan.skipped.values())
    if not plan.ops:
        _write("nothing to undo")
        return whole
    lookup = "\n".join(f"restore {printable(op.path)}" for op in plan.ops)
    if not confirm(lookup, _YES, yes):
        raise ConfigError(f"nothing was undone: {name} can still be used")
    # A node can't be created while its parent is missing.
    parents = dict.fromkeys(op.path.rpartition("/")[0] for op in plan.ops)
    store.ensure_paths([parent for parent in parents if parent])
    for op, error in zip(plan.ops, store.write_many(plan.ops), strict=True):
        _write(f"{'restored' if error is None else 'not restored'}: {op.path}", error)
        whole = whole and error is None
    return whole


def _wanted(finding: Diagnosis, fix: Fix, *, yes: bool) -> bool:
    lines = [
        "",
        *finding_lines(finding, coloured=shows_colour(sys.stderr)),
        *(f"    {write_text(write)}" for write in fix.writes),
        f"  Before you say yes: {printable(fix.caution)}",
    ]
    return confirm("\n".join(lines), _YES, yes)


def _do(store: ZkStore, fix: Fix, undo: UndoFile) -> bool | None:
    """Execute a repair; return whether it is complete; None if a write failed."""
    plan = _plan(store, fix)
    if plan.refused is not None:
        _write(f"nothing was done: {plan.refused}")
        return False
    for path, why in plan.skipped.items():
        _write(f"left unchanged: {path}: {why}")
    if not plan.writes:
        return all(why == GONE for why in plan.skipped.values())
    undo.add([planned.write for planned in plan.writes])
    errors = store.write_many([planned.op for planned in plan.writes])
    failed: list[Write] = []
    for planned, error in zip(plan.writes, errors, strict=True):
        done = "deleted" if isinstance(planned.op, DeleteOp) else "set"
        _write(f"{done if error is None else 'not done'}: {planned.op.path}", error)
        if error is not None:
            failed.append(planned.write)
    undo.drop(failed)
    return None if failed else not plan.skipped


def _plan(store: ZkStore, fix: Fix) -> FixPlan:
    nodes = dict(zip(fix.paths, store.get_many(fix.paths), strict=True))
    below = store.children_many(fix.childless) if fix.childless else []
    return plan_fix(fix, nodes, dict(zip(fix.childless, below, strict=True)))


def _require_same(made_for: str, zookeeper: str, name: str) -> None:
    theirs, ours = parse_connect_string(made_for), parse_connect_string(zookeeper)
    if theirs.chroot != ours.chroot or not set(theirs.servers) & set(ours.servers):
        raise ConfigError(
            f"{name} undoes repairs of {made_for}, but --zookeeper is {zookeeper}: give the same "
            "one"
        )


def _write(text: str, error: object = None) -> None:
    print(printable(text if error is None else f"{text}: {error}"), file=sys.stderr)
