"""Defines the events of a ZooKeeper session, as values.

A session outlives its connection: SUSPENDED means that nothing is known for now (stop trusting
ownership), CONNECTED that the server responds again, LOST that the session has ended and its
ephemeral nodes are gone. Every event names its session, so that a late event of an earlier session
can't undo what a newer one owns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class SessionState(StrEnum):
    """The state of a session."""

    CONNECTED = "CONNECTED"
    """The server responds; all earlier watches are gone: read again, watch again."""
    SUSPENDED = "SUSPENDED"
    """The connection broke; the session may live or not."""
    LOST = "LOST"
    """The session ended; so did its ephemeral nodes."""
    DEAD = "DEAD"
    """The client has ended with an unexpected error: no more events will come."""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A change of a session's state, with the id of the session."""

    state: SessionState
    session_id: int


SessionListener = Callable[[SessionEvent], None]
"""Called with session events on a thread of the client: it may only put them into a mailbox."""

ResponseListener = Callable[[int, int], None]
"""Called for a response of the server, with the time when its request was sent, and the longest
interval between responses while all is well (both in ms, the first by ``Clock.now_ms``). Thread:
that of session events. The session lives for its time-out from when the server got the request,
which is later."""
