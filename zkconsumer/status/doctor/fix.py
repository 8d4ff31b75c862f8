"""A repair as writes to ZooKeeper, each with what its node must still be (values only).

A finding is as old as its snapshot. So a write says what was seen, and ``fixing`` holds that
against nodes read just before; what is otherwise by then stays as it is.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a node must still be.

    Attributes:
        session_id: the session that owns it, 0 for a persistent node; None: not known.
        data: its bytes; None: not known.
        no_registration: its bytes still can't be read as a member's registration.
    """

    session_id: int | None = None
    data: bytes | None = None
    no_registration: bool = False

    def __post_init__(self) -> None:
        if self.data is None and self.session_id is None and not self.no_registration:
            raise ValueError("a write that would be done whatever the node is by then")


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Delete a node that has no children."""

    path: str
    expected: Expected


@dataclass(frozen=True, slots=True)
class SetNode:
    """Replace a node's bytes."""

    path: str
    expected: Expected
    data: bytes


Write = DeleteNode | SetNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """A repair that can be done for whoever says yes to it.

    Attributes:
        what: what is going to be done, in a sentence.
        caution: what to make sure of before saying yes.
        writes: at least one, each of its own: one that can't be done keeps no other from it.
        absent: nodes that must not be there, else nothing is done.
        childless: nodes that must have no children (or not be there), else nothing is done.
    """

    what: str
    caution: str
    writes: tuple[Write, ...]
    absent: tuple[str, ...] = ()
    childless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.writes:
            raise ValueError("a repair that writes nothing")

    @property
    def paths(self) -> tuple[str, ...]:
        """The nodes to read, with their bytes, before ``fixing.plan_fix``."""
        return tuple(dict.fromkeys((*(one.path for one in self.writes), *self.absent)))


def session_name(session_id: int | None) -> str:
    """Return a session, as ZooKeeper's own tools write it."""
    if session_id is None:
        return "a session that is not known"
    return f"session {session_id & 0xFFFFFFFFFFFFFFFF:#x}" if session_id else "no session"
