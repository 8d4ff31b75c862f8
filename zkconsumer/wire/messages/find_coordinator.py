"""FindCoordinator: the coordinator of a group (from 0.8.2 on, as ConsumerMetadata).

A request creates the offsets topic if it does not exist: the response is
``COORDINATOR_NOT_AVAILABLE`` until its partitions have leaders. Version 4, for several groups, is
of no use to a consumer.
Source: Kafka 0.8.2.2 ``ConsumerMetadataRequest``, Kafka 3.9 ``FindCoordinatorRequest``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import Int8, Int16, Int32, LenientString, NullableString, Since, String

GROUP_KEY_TYPE = 0
"""The key type of a group id; 1 would be a transactional id."""


class FindCoordinatorResponse(Response, api=APIS[ApiKey.FIND_COORDINATOR]):
    """The coordinator; its id, host and port are -1, "" and -1 with an error."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16
    error_message: Annotated[NullableString, Since(1)] = None
    coordinator_id: Int32
    host: LenientString
    port: Int32


class FindCoordinatorRequest(Request[FindCoordinatorResponse]):
    """Sent to any broker."""

    group_id: String
    key_type: Annotated[Int8, Since(1)] = GROUP_KEY_TYPE
