"""What is said of a request that is under way, or of a connection that somebody else works with."""

from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from zkconsumer.wire.codec import Request

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class RawStream:
    """A connection in the hands of somebody who writes and reads the bytes himself.

    Attributes:
        descriptor: the socket's.
        correlation_id: of the next request; to be moved on with every one.
        client_id: sent with every request, as UTF-8.
        max_response_bytes: no larger response is to be taken, whatever was requested.
        max_entry_bytes: how much a fetch may bring beyond what was asked; see ``response_bounds``.
    """

    descriptor: int
    correlation_id: int
    client_id: bytes
    max_response_bytes: int
    max_entry_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class InFlight(Generic[R]):
    """A request that was sent, and whose response was not read yet."""

    request: Request[R]
    version: int
    correlation_id: int
    sent_ms: int = 0


class Received(Enum):
    """What came of a response within some time."""

    NOTHING = "nothing"
    PART = "part"
    ALL = "all"
