"""The request that lists the groups that a broker coordinates (KIP-518, KIP-848).

It came with 0.9, and is a probe that distinguishes such a broker from older ones (``negotiation``).
Source: Kafka 0.9.0.1 and 3.9, ``ListGroupsRequest`` and ``ListGroupsResponse``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import ApiMessage, Hint, Int16, Int32, Since, String


class ListedGroup(ApiMessage):
    """A group; ``protocol_type`` is "" for one that only stores offsets."""

    group_id: String
    protocol_type: String
    state: Annotated[String, Since(4), Hint()] = ""
    type: Annotated[String, Since(5), Hint()] = ""


class ListGroupsResponse(Response, api=APIS[ApiKey.LIST_GROUPS]):
    """The groups that this broker coordinates, in no particular order."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    groups: tuple[ListedGroup, ...]


class ListGroupsRequest(Request[ListGroupsResponse]):
    """Sent to every broker to list all groups; an empty filter means all."""

    states_filter: Annotated[tuple[String, ...], Since(4)] = ()
    types_filter: Annotated[tuple[String, ...], Since(5)] = ()
