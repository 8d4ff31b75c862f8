"""Requests in flight, and connections that are delegated to native code."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from zkconsumer.wire.api import Request

R = TypeVar("R")


@dataclass(slots=True, eq=False)
class RawStream:
    """A connection whose bytes are written and read by native code.

    Attributes:
        descriptor: the socket's file descriptor.
        correlation_id: the id of the next request; each request must increment it.
        client_id: sent with every request, as UTF-8.
        max_response_bytes: the largest response to accept.
        max_entry_bytes: how far a fetch response may exceed its limit; see ``response_bounds``.
        on_exchanged: called for each Fetch response, with the sizes of request and response in
            bytes, the time between them in ms, and the throttle time in ms.
    """

    descriptor: int
    correlation_id: int
    client_id: bytes
    max_response_bytes: int
    max_entry_bytes: int
    on_exchanged: Callable[[int, int, int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class InFlight(Generic[R]):
    """A request that was sent and whose response has not been read."""

    request: Request[R]
    version: int
    correlation_id: int
    sent_ms: int = 0


class Received(Enum):
    """How much of a response has arrived."""

    NOTHING = "nothing"
    PART = "part"
    ALL = "all"
