"""The record of a repair's writes to ZooKeeper, as a file, and how to undo them (pure).

It is on disk before the first write. JSON, with a version.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.status.doctor.fix import Write, session_name
from zkconsumer.zk.paths import is_path
from zkconsumer.zk.store import CreateOp, SetOp, ZNode

FORMAT: Final = "zkconsumer doctor undo"
VERSION: Final = 1
UNCHANGED: Final = "it is unchanged"
"""Why a node needs no undoing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRecord:
    """All writes that a run has done, or was about to do.

    Attributes:
        zookeeper: the cluster, as ``zookeeper.connect`` names it.
        made_ms: the time of the run, in ms since the epoch.
        writes: in their order. An ephemeral node can't be restored: the new one would belong to
            our session, or to none.
    """

    zookeeper: str
    made_ms: int
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoPlan:
    """The writes that restore nodes, and the reasons why other nodes are left as they are."""

    ops: tuple[CreateOp | SetOp, ...]
    skipped: Mapping[str, str]


def plan_undo(record: UndoRecord, nodes: Mapping[str, ZNode | None]) -> UndoPlan:
    """Plan how to undo a repair against the current nodes; the last write is undone first.

    Args:
        record: the repair's writes.
        nodes: the current ones; missing keys count as absent nodes.
    """
    ops: list[CreateOp | SetOp] = []
    skipped: dict[str, str] = {}
    for write in reversed(record.writes):
        planned = _plan_undoing(write, nodes.get(write.path))
        if isinstance(planned, str):
            skipped[write.path] = planned
        else:
            ops.append(planned)
    return UndoPlan(ops=tuple(ops), skipped=skipped)


def _plan_undoing(write: Write, node: ZNode | None) -> CreateOp | SetOp | str:
    if node is not None and node.data == write.before and node.ephemeral_owner == write.session_id:
        return UNCHANGED
    if write.after is None:
        if node is not None:
            return "it was created again"
        if write.session_id:
            return (
                f"it belonged to {session_name(write.session_id)}: only its owner can create it "
                "again"
            )
        return CreateOp(write.path, write.before)
    if node is None:
        return "it is gone"
    if node.data != write.after or node.ephemeral_owner != write.session_id:
        return "it was written since"
    return SetOp(write.path, write.before, node.version)


def encode_undo(record: UndoRecord) -> str:
    """Return the text of the file, one node per line."""
    head = {
        "format": FORMAT,
        "version": VERSION,
        "zookeeper": record.zookeeper,
        "made_ms": record.made_ms,
    }
    lines = [
        json.dumps(
            {
                "path": write.path,
                "before": _encoded(write.before),
                "after": None if write.after is None else _encoded(write.after),
                "session_id": write.session_id,
            }
        )
        for write in record.writes
    ]
    start = json.dumps(head, indent=1).removesuffix("\n}")
    entries = ",\n  ".join(lines)
    return f'{start},\n "nodes": [\n  {entries}\n ]\n}}\n'


def decode_undo(text: str, name: str) -> UndoRecord:
    """Parse the file.

    Raises:
        ConfigError: it is malformed, damaged, or of a later version.
    """
    try:
        parsed: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name} is not an undo file: {error}") from error
    if not isinstance(parsed, dict) or parsed.get("format") != FORMAT:
        raise ConfigError(f"{name} is not an undo file: its format is not {FORMAT!r}")
    version = parsed.get("version")
    if version != VERSION:
        raise ConfigError(
            f"{name} has version {version!r}, but this program reads {VERSION}: use the program "
            "that wrote it, or a later one"
        )
    try:
        return UndoRecord(
            zookeeper=_text(parsed["zookeeper"]),
            made_ms=_number(parsed["made_ms"]),
            writes=tuple(map(_write, parsed["nodes"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{name} is damaged: {error!r}") from error


def _encoded(data: bytes) -> dict[str, str]:
    """Return bytes as text if they are UTF-8, so that the file is readable."""
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _decoded(value: object) -> bytes:
    match value:
        case {"text": str(text), **rest} if not rest:
            return text.encode()
        case {"base64": str(text), **rest} if not rest:
            return base64.b64decode(text, validate=True)
        case _:
            raise TypeError(f"{value!r} is not encoded bytes")


def _write(entry: dict[str, object]) -> Write:
    path, after = _text(entry["path"]), entry["after"]
    if not is_path(path):
        raise ValueError(f"{path!r} is not a path")
    return Write(
        path=path,
        before=_decoded(entry["before"]),
        after=None if after is None else _decoded(after),
        session_id=_number(entry["session_id"]),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not an integer")
    return value
