"""The lookup of a group's coordinator, for a ``RequestRound``."""

from dataclasses import dataclass

from zkconsumer.cluster.request_round import RoundRequest
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)


@dataclass(frozen=True, slots=True)
class CoordinatorLookup:
    """The result of a lookup.

    Attributes:
        by: the broker that responded.
        coordinator: the coordinator, or an error code.
    """

    by: Broker
    coordinator: Broker | int


def who_coordinates(group_id: str) -> RoundRequest[CoordinatorLookup]:
    """Build the lookup; it makes brokers create the offsets topic if missing (see 0.8.2)."""
    request = FindCoordinatorRequest(group_id=group_id)

    def read(
        connection: NegotiatedConnection, response: FindCoordinatorResponse
    ) -> CoordinatorLookup:
        found = Broker(response.coordinator_id, response.host, response.port)
        return CoordinatorLookup(connection.broker, response.error_code or found)

    return RoundRequest(
        what=f"who coordinates group {group_id}", request=lambda _: request, read=read
    )
