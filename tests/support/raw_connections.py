"""Opens raw connections to brokers, for tests that say every byte themselves."""

from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.transport import Connector
from zkconsumer.wire.response_bounds import DEFAULT_MAX_RESPONSE_BYTES


class BrokerConnector:
    """Opens connections that all bear the same client id.

    Args:
        connector: makes the transports.
        client_id: sent with every request.
        timeout_ms: how long connecting may take.
        max_response_bytes: the largest answer that a connection takes.
    """

    def __init__(
        self,
        connector: Connector,
        *,
        client_id: str,
        timeout_ms: int,
        max_response_bytes: int = DEFAULT_MAX_RESPONSE_BYTES,
    ) -> None:
        self._connector = connector
        self._client_id = client_id
        self._timeout_ms = timeout_ms
        self._max_response_bytes = max_response_bytes

    def open(self, broker: Broker, *, timeout_ms: int | None = None) -> BrokerConnection:
        """Connect to a broker.

        Args:
            broker: whom to call.
            timeout_ms: bounds it, where that is less than the connector's own.

        Raises:
            ConnectFailed: naming its address.
        """
        limit_ms = self._timeout_ms if timeout_ms is None else min(timeout_ms, self._timeout_ms)
        transport = self._connector.connect(broker.host, broker.port, timeout_ms=limit_ms)
        return BrokerConnection(
            broker,
            transport,
            client_id=self._client_id,
            max_response_bytes=self._max_response_bytes,
        )
