"""Heartbeat: keeps a member of a coordinator's group alive; the response reports a rebalance.

Every new connection sends one, too, to recognise a broker of 0.9 (see ``wire.negotiation``). Static
members came with version 3 (KIP-345).

Source: Kafka 0.9.0.1 and 3.9 ``HeartbeatRequest``, ``HeartbeatResponse``.
"""

from typing import Annotated

from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, NullableString, Since, String


class HeartbeatResponse(Response, api=APIS[ApiKey.HEARTBEAT]):
    """``REBALANCE_IN_PROGRESS`` means that the member must rejoin; it is still a member."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16


class HeartbeatRequest(Request[HeartbeatResponse]):
    """Sent to the coordinator."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: Annotated[NullableString, Since(3)] = None
