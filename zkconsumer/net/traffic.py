"""The interface to which a connection reports its traffic, request by request."""

from typing import Protocol

from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey


class Traffic(Protocol):
    """Receives reports of connections and requests; must neither block nor raise. Thread: any."""

    def on_opened(self, broker: Broker) -> None:
        """Record an opened connection."""
        ...

    def on_closed(self, broker: Broker) -> None:
        """Record a closed connection."""
        ...

    def on_sent(self, broker: Broker, size_bytes: int) -> None:
        """Record a sent request of ``size_bytes``."""
        ...

    def on_response(
        self, broker: Broker, api: ApiKey, size_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """Record a response.

        Args:
            broker: the broker that responded.
            api: the API of the request.
            size_bytes: the size of the response.
            took_ms: the time from sending the request to the complete response.
            throttle_ms: the throttle time in the response (quotas).
        """
        ...


class NoTraffic:
    """Discards all reports."""

    def on_opened(self, broker: Broker) -> None:
        """See ``Traffic``."""

    def on_closed(self, broker: Broker) -> None:
        """See ``Traffic``."""

    def on_sent(self, broker: Broker, size_bytes: int) -> None:
        """See ``Traffic``."""

    def on_response(
        self, broker: Broker, api: ApiKey, size_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """See ``Traffic``."""


NO_TRAFFIC = NoTraffic()
