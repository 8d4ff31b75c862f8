"""The interface to which a connection reports its traffic, request by request."""

from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey


class Traffic:
    """Receives reports of connections and requests, and discards them. Thread: any.

    A subclass that records them must neither block nor raise.
    """

    def on_opened(self, broker: Broker) -> None:
        """Record an opened connection."""

    def on_closed(self, broker: Broker) -> None:
        """Record a closed connection."""

    def on_sent(self, broker: Broker, size_bytes: int) -> None:
        """Record a sent request of ``size_bytes``."""

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


NO_TRAFFIC = Traffic()
