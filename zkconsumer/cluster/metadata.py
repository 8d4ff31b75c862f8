"""Asks brokers about topics, one after the other until one answers.

Source: Kafka 0.8.2.2 ``ClientUtils.fetchTopicMetadata``.
"""

from collections.abc import Callable, Sequence

from zkconsumer.cluster.view import ClusterView, from_metadata
from zkconsumer.errors import (
    BrokerError,
    ConnectFailed,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.error_codes import ErrorCode
from zkconsumer.wire.messages.metadata import MetadataRequest
from zkconsumer.wire.versions import OLDEST, version_for

METADATA_VERSION = version_for(ApiKey.METADATA, OLDEST)


class MetadataReader:
    """Reads cluster views.

    Args:
        open_connection: connects to a broker; each question takes a connection of its own.
        timeout_ms: how long one broker may take.
        shuffle: puts a list into random order, in place, so that not all ask the same broker.
    """

    def __init__(
        self,
        open_connection: Callable[[Broker], BrokerConnection],
        *,
        timeout_ms: int,
        shuffle: Callable[[list[Broker]], None],
    ) -> None:
        self._open = open_connection
        self._timeout_ms = timeout_ms
        self._shuffle = shuffle
        self._connection: BrokerConnection | None = None
        self._stopped = False

    def stop(self) -> None:
        """End a question that is under way, and fail any later one. Thread: any."""
        self._stopped = True
        connection = self._connection
        if connection is not None:
            connection.close()

    def read(
        self, brokers: Sequence[Broker], topics: Sequence[str], *, all_topics: bool = False
    ) -> ClusterView:
        """Ask about these topics.

        Args:
            brokers: whom to ask, in any order.
            topics: must not be empty, which to a 0.8 broker means all topics.
            all_topics: ask for all of them instead.

        Raises:
            LocalProtocolError: topics together with ``all_topics``, or neither; or such that no
                request can carry them.
            TransportError: no broker answered, or ``stop`` was called; names each and why.
            BrokerError: the broker refused the whole question because of one illegal topic name.
        """
        if bool(topics) == all_topics:
            raise LocalProtocolError(
                "a metadata request without topics is one for all of them: ask with all_topics, or "
                "name topics (field topics)"
            )
        if not brokers:
            raise ConnectFailed("no broker is registered, so none can be asked for metadata")
        order = list(brokers)
        self._shuffle(order)
        failures: list[str] = []
        for broker in order:
            try:
                return self._ask(broker, topics)
            except TransportError as error:
                failures.append(str(error))
            except RemoteProtocolError as error:
                failures.append(f"{broker}: {error}")
            if self._stopped:
                break
        raise ConnectFailed(f"no broker answers about {_some(topics)}: {'; '.join(failures)}")

    def _ask(self, broker: Broker, topics: Sequence[str]) -> ClusterView:
        connection = self._connection = self._open(broker)
        if self._stopped:
            connection.close()
        try:
            response = connection.request(
                MetadataRequest(topics=tuple(topics)),
                version=METADATA_VERSION,
                timeout_ms=self._timeout_ms,
            )
        finally:
            self._connection = None
            connection.close()
        codes = {topic.error_code for topic in response.topics}
        if codes == {ErrorCode.INVALID_TOPIC} and not response.brokers:
            raise BrokerError(
                ErrorCode.INVALID_TOPIC,
                "Metadata",
                f"{broker}: one of these topic names is illegal: {_some(topics)}",
            )
        return from_metadata(response)


def _some(topics: Sequence[str]) -> str:
    shown = ", ".join(topics[:10])
    return f"{shown}, ... ({len(topics)} in all)" if len(topics) > 10 else shown or "all topics"
