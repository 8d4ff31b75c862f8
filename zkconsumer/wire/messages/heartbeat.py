"""Heartbeat: keeps a member alive; the response reports a rebalance (from 0.9 on).

Source: Kafka 0.9.0.1 and 3.9 ``HeartbeatRequest``, ``HeartbeatResponse``; KIP-345.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, NullableString, Since, String

HEARTBEAT = Api(key=ApiKey.HEARTBEAT, last=4, flexible=4)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatResponse(Response, api=HEARTBEAT):
    """``REBALANCE_IN_PROGRESS`` asks the member to rejoin; it is still a member."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Int16


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatRequest(Request[HeartbeatResponse]):
    """Sent to the coordinator."""

    group_id: String
    generation_id: Int32
    member_id: String
    group_instance_id: Annotated[NullableString, Since(3)] = None
