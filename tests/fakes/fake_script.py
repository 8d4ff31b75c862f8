"""The steps of a fake broker's script: what it does with a request instead of answering it."""

from dataclasses import dataclass
from typing import TypeAlias

from zkconsumer.wire.api import Response


@dataclass(frozen=True, slots=True)
class DefaultReply:
    """Answer from the cluster's state, as without a script."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with this error code for every partition of the request."""

    error_code: int


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """Answer with this response."""

    response: Response


@dataclass(frozen=True, slots=True)
class Raw:
    """Send these bytes as the response, valid or not."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer, and stay connected."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Answer, but close the connection after ``sent_bytes`` bytes of the response."""

    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection without a response."""


Step: TypeAlias = DefaultReply | Fail | ScriptedReply | Raw | Hang | Cut | Close
