"""Which APIs there are, and what ties a request to its response.

A message class names its ``Api`` (key and versions); a request class also names its response, both
for the type checker (``Request[FetchResponse]``) and for the codec (``RESPONSE``).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Generic, TypeVar

R_co = TypeVar("R_co", covariant=True)


class ApiKey(IntEnum):
    """The number that tells a broker which API a request is for."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    CONSUMER_METADATA = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API and the versions of it that the codec knows: a new version raises ``last``."""

    key: ApiKey
    first: int = 0
    last: int


class Response:
    """What a broker answers; every response class says of which API."""

    __slots__ = ()
    API: ClassVar[Api]


class Request(Generic[R_co]):
    """What a broker is asked; ``Request[FetchResponse]`` is answered with a ``FetchResponse``."""

    __slots__ = ()
    API: ClassVar[Api]
    RESPONSE: ClassVar[type[Response]]
