"""What can happen to a ZooKeeper session, as values.

A session outlives its connection: SUSPENDED says that nothing is known for now (stop trusting
ownership), CONNECTED that the server answers again, LOST that the session is over and its
ephemeral nodes are gone. Every event names the session it is about, so that a late word about an
earlier session can't undo what a newer one owns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class SessionState(StrEnum):
    """What became of a session."""

    CONNECTED = "CONNECTED"
    """The server answers; all watches left before are gone: read again, watch again."""
    SUSPENDED = "SUSPENDED"
    """The connection broke; the session may live or not."""
    LOST = "LOST"
    """The session ended; so did its ephemeral nodes."""
    DEAD = "DEAD"
    """The client itself is at its end, of an error that nobody foresaw: nothing more will come."""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """A change of a session's state, with the id of the session it is about."""

    state: SessionState
    session_id: int


SessionListener = Callable[[SessionEvent], None]
"""Told of session events on a thread of the client: it may only put into a mailbox."""

HeardListener = Callable[[int, int], None]
"""Told that the server has answered: when that request was sent, and how often there is an answer
at least while all is well (both in ms, the first by ``Clock.now_ms``). Thread: that of session
events. The session lives for its time-out from when the server got the request, which is later."""
