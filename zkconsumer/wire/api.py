"""The APIs, and the types that tie a request to its response.

A response class names its ``Api`` (key and versions); a request class names its response
(``Request[FetchResponse]``), for the type checker and for the codec (``RESPONSE``).
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar, Generic, TypeVar, get_args

R_co = TypeVar("R_co", covariant=True)


class ApiKey(IntEnum):
    """The number of an API in a request header."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    CONSUMER_METADATA = 10
    FIND_COORDINATOR = 10  # called ConsumerMetadata before 0.11
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    DELETE_GROUPS = 42
    INCREMENTAL_ALTER_CONFIGS = 44
    CONSUMER_GROUP_DESCRIBE = 69


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API and the versions that the codec supports: a new version raises ``last``.

    ``flexible`` is the first version with compact lengths and tagged fields (KIP-482), None if no
    supported version has them.
    """

    key: ApiKey
    first: int = 0
    last: int
    flexible: int | None = None

    def is_flexible(self, version: int) -> bool:
        """Return whether that version has compact lengths and tagged fields."""
        return self.flexible is not None and version >= self.flexible


class Response:
    """The base of response classes; each names its API: ``class X(Response, api=...)``."""

    __slots__ = ()
    API: ClassVar[Api]

    def __init_subclass__(cls, *, api: Api | None = None) -> None:
        if api is not None:  # a dataclass with slots is made anew, without the keyword
            cls.API = api


class Request(Generic[R_co]):
    """Base of request classes; ``Request[FetchResponse]`` is answered by a ``FetchResponse``."""

    __slots__ = ()
    API: ClassVar[Api]
    RESPONSE: ClassVar[type[Response]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        (base,) = cls.__dict__["__orig_bases__"]
        (cls.RESPONSE,) = get_args(base)
        cls.API = cls.RESPONSE.API
