"""What a fake broker may be told to do with a request instead of answering it."""

from dataclasses import dataclass
from typing import TypeAlias

from zkconsumer.wire.api import Response


@dataclass(frozen=True, slots=True)
class DefaultReply:
    """Answer from the cluster's state, as it always does."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with this error code, for every partition asked about."""

    error_code: int


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """Answer with this."""

    response: Response


@dataclass(frozen=True, slots=True)
class Raw:
    """Send these bytes, whatever they are."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Hang:
    """Never answer, and stay connected."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Answer, but close the connection after so many bytes of it."""

    sent_bytes: int


@dataclass(frozen=True, slots=True)
class Close:
    """Close the connection without an answer."""


Step: TypeAlias = DefaultReply | Fail | ScriptedReply | Raw | Hang | Cut | Close
