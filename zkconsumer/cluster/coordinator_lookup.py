"""Who coordinates a group: the question for a ``RequestRound``."""

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
    """An answer.

    Attributes:
        by: the broker that says so.
        coordinator: the coordinator; or the error code that came instead.
    """

    by: Broker
    coordinator: Broker | int


def who_coordinates(group_id: str) -> RoundRequest[CoordinatorLookup]:
    """Make the question; asking creates the topic of offsets where there is none (see 0.8.2)."""
    request = FindCoordinatorRequest(group_id=group_id)

    def read(
        connection: NegotiatedConnection, response: FindCoordinatorResponse
    ) -> CoordinatorLookup:
        found = Broker(response.coordinator_id, response.host, response.port)
        return CoordinatorLookup(connection.broker, response.error_code or found)

    return RoundRequest(
        what=f"who coordinates group {group_id}", request=lambda _: request, read=read
    )
