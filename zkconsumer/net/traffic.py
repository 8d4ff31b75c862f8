"""What a connection tells of its traffic, to whoever counts it: once a request, never a byte."""

from typing import Protocol

from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey


class Traffic(Protocol):
    """Hears of connections and requests, and may neither wait nor raise. Thread: any."""

    def opened(self, broker: Broker) -> None:
        """A connection is there."""
        ...

    def closed(self, broker: Broker) -> None:
        """It is not any more."""
        ...

    def sent(self, broker: Broker, size_bytes: int) -> None:
        """A request was sent, of so many bytes."""
        ...

    def on_response(
        self, broker: Broker, api: ApiKey, size_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """Its response came, of so many bytes.

        Args:
            broker: whose.
            api: what was requested.
            size_bytes: of the response.
            took_ms: from the sending to the whole response.
            throttle_ms: how long the broker asks to pause (quotas).
        """
        ...


class NoTraffic:
    """Counts nothing."""

    def opened(self, broker: Broker) -> None:
        """See ``Traffic``."""

    def closed(self, broker: Broker) -> None:
        """See ``Traffic``."""

    def sent(self, broker: Broker, size_bytes: int) -> None:
        """See ``Traffic``."""

    def on_response(
        self, broker: Broker, api: ApiKey, size_bytes: int, took_ms: int, throttle_ms: int
    ) -> None:
        """See ``Traffic``."""


NO_TRAFFIC = NoTraffic()
