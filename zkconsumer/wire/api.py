"""The APIs, and the base classes that connect a request with its response.

A response class names its ``Api`` (key and versions); a request class names its response
(``Request[FetchResponse]``), for the type checker and for the codec (``RESPONSE``).
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import ClassVar, Final, Generic, NamedTuple, TypeVar, get_args

from zkconsumer.wire.schema import ApiMessage

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


class Api(NamedTuple):
    """An API and the versions that the codec supports; to add a version, raise ``last``.

    ``flexible`` is the first version with compact lengths and tagged fields (KIP-482), None if no
    supported version has them.
    """

    key: ApiKey
    last: int
    first: int = 0
    flexible: int | None = None

    def is_flexible(self, version: int) -> bool:
        """Return whether that version has compact lengths and tagged fields."""
        return self.flexible is not None and version >= self.flexible


APIS: Final[Mapping[ApiKey, Api]] = {
    api.key: api
    for api in (
        Api(key=ApiKey.PRODUCE, last=9, flexible=9),
        Api(key=ApiKey.FETCH, last=13, flexible=12),
        Api(key=ApiKey.LIST_OFFSETS, last=7, flexible=6),
        Api(key=ApiKey.METADATA, last=12, flexible=9),
        Api(key=ApiKey.OFFSET_COMMIT, last=8, flexible=8),
        Api(key=ApiKey.OFFSET_FETCH, last=7, flexible=6),
        Api(key=ApiKey.FIND_COORDINATOR, last=3, flexible=3),
        Api(key=ApiKey.JOIN_GROUP, last=9, flexible=6),
        Api(key=ApiKey.HEARTBEAT, last=4, flexible=4),
        Api(key=ApiKey.LEAVE_GROUP, last=5, flexible=4),
        Api(key=ApiKey.SYNC_GROUP, last=5, flexible=4),
        Api(key=ApiKey.DESCRIBE_GROUPS, last=5, flexible=5),
        Api(key=ApiKey.LIST_GROUPS, last=5, flexible=3),
        Api(key=ApiKey.SASL_HANDSHAKE, last=1),
        Api(key=ApiKey.API_VERSIONS, last=3, flexible=3),
        Api(key=ApiKey.CREATE_TOPICS, last=7, flexible=5),
        Api(key=ApiKey.DELETE_TOPICS, last=5, flexible=4),
        Api(key=ApiKey.INIT_PRODUCER_ID, last=4, flexible=2),
        Api(key=ApiKey.OFFSET_FOR_LEADER_EPOCH, last=4, flexible=4),
        Api(key=ApiKey.SASL_AUTHENTICATE, last=2, flexible=2),
        Api(key=ApiKey.CREATE_PARTITIONS, last=3, flexible=2),
        Api(key=ApiKey.DELETE_GROUPS, last=2, flexible=2),
        Api(key=ApiKey.INCREMENTAL_ALTER_CONFIGS, last=1, flexible=1),
        Api(key=ApiKey.CONSUMER_GROUP_DESCRIBE, last=0, flexible=0),
    )
}
"""The versions of each API that the codec supports; its messages are in ``wire/messages``."""


class Response(ApiMessage):
    """The base of response classes; each names its API: ``class X(Response, api=...)``."""

    API: ClassVar[Api]

    def __init_subclass__(cls, *, api: Api) -> None:
        super().__init_subclass__()
        cls.API = api


class Request(ApiMessage, Generic[R_co]):
    """The base of request classes: the response to ``Request[FetchResponse]`` is of that class."""

    API: ClassVar[Api]
    RESPONSE: ClassVar[type[Response]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        (base,) = cls.__dict__["__orig_bases__"]
        (cls.RESPONSE,) = get_args(base)
        cls.API = cls.RESPONSE.API
