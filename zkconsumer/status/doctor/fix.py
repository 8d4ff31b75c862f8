"""A repair as writes to ZooKeeper, each with the expected state of its node (values only).

A diagnosis is as old as its snapshot. So a write states what was seen, and ``fixing`` compares that
with nodes that were just read; a node that changed is left alone.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """A write of one node, and the state that the node is expected to have.

    Attributes:
        path: the node's path.
        before: its expected bytes.
        session_id: the expected session of its owner; 0 for a persistent node.
        after: the bytes that replace them; None: the node, which has no children, is deleted.
    """

    path: str
    before: bytes
    session_id: int
    after: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A repair that is carried out on confirmation.

    Attributes:
        what: a sentence that describes it.
        caution: what to check before confirming.
        writes: at least one; independent of each other.
        absent: nodes that must not exist, else nothing is written.
        childless: nodes that must not have children, else nothing is written.
    """

    what: str
    caution: str
    writes: tuple[Write, ...]
    absent: tuple[str, ...] = ()
    childless: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """The nodes to read, with their data, before ``fixing.plan_fix``."""
        return tuple(dict.fromkeys((*(write.path for write in self.writes), *self.absent)))


def session_name(session_id: int | None) -> str:
    """Return a session id as ZooKeeper's own tools write it."""
    if session_id is None:
        return "an unknown session"
    return f"session {session_id & 0xFFFFFFFFFFFFFFFF:#x}" if session_id else "no session"
