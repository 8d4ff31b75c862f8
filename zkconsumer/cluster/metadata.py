"""Asks brokers about topics, one after the other until one answers; none is waited for long.

Source: Kafka 0.8.2.2 ``ClientUtils.fetchTopicMetadata``.
"""

from collections import deque
from collections.abc import Callable, Sequence

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.view import ClusterView, from_metadata
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    BrokerError,
    ConnectFailed,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
    TransportError,
    ZkConsumerError,
)
from zkconsumer.model import Broker
from zkconsumer.net.connection import BrokerConnection, Heard
from zkconsumer.net.connector import OpenConnection
from zkconsumer.net.hedging import HedgePace, Sent, first_to_answer
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.metadata import MetadataRequest, MetadataResponse
from zkconsumer.wire.versions import OLDEST, version_for

METADATA_VERSION = version_for(ApiKey.METADATA, OLDEST)


class MetadataReader:
    """Reads cluster views.

    Args:
        open_connection: connects to a broker; each question takes a connection of its own.
        timeout_ms: how long one broker may take; one that is silent for a fifteenth of that, 2 s at
            most, does not keep the next one from being asked.
        shuffle: puts a list into random order, in place, so that not all ask the same broker.
        clock: for deadlines.
    """

    def __init__(
        self,
        open_connection: OpenConnection,
        *,
        timeout_ms: int,
        shuffle: Callable[[list[Broker]], None],
        clock: Clock | None = None,
    ) -> None:
        self._open = open_connection
        self._timeout_ms = timeout_ms
        self._shuffle = shuffle
        self._clock = clock or SystemClock()
        self._connections: list[BrokerConnection] = []
        self._stopped = False

    def stop(self) -> None:
        """End a question that is under way, and fail any later one. Thread: any."""
        self._stopped = True
        for connection in list(self._connections):
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
        question = _Question(order, tuple(topics), self._timeout_ms, self._clock, self._send)
        try:
            return question.ask()
        finally:
            connections, self._connections = self._connections, []
            for connection in connections:
                connection.close()

    def _send(self, broker: Broker, request: MetadataRequest, connect_ms: int) -> "_Asked":
        connection = self._open(broker, timeout_ms=connect_ms)
        self._connections.append(connection)
        if self._stopped:
            connection.close()
        in_flight = connection.begin(request, version=METADATA_VERSION, timeout_ms=self._timeout_ms)
        return Sent(connection, in_flight)


_Asked = Sent[BrokerConnection, MetadataResponse]
_Send = Callable[[Broker, MetadataRequest, int], _Asked]


class _Question:
    """One question, put to broker after broker: to the next one as soon as all are silent.

    At the end of the line each is asked once more, over another connection: if there is only one,
    its answer may be lost, too; and a connect may take longer then.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        topics: tuple[str, ...],
        timeout_ms: int,
        clock: Clock,
        send: _Send,
    ) -> None:
        self._topics = topics
        self._request = MetadataRequest(topics=topics)
        self._quiet_ms = HedgePace(timeout_ms).quiet_ms
        self._line = deque([(one, self._quiet_ms) for one in brokers])
        self._line.extend((one, timeout_ms) for one in brokers)
        # Who is asked last has as long as the first one.
        self._deadline_ms = clock.now_ms() + timeout_ms + self._quiet_ms * len(self._line)
        self._clock = clock
        self._send = send
        self._failures: dict[Broker, str] = {}
        self._done_with: set[Broker] = set()

    def ask(self) -> ClusterView:
        """See ``MetadataReader.read``."""
        while True:
            try:
                answered = first_to_answer(
                    None,
                    self._next,
                    quiet_ms=self._quiet_ms,
                    timeout_ms=max(1, self._deadline_ms - self._clock.now_ms()),
                    clock=self._clock,
                    whom="the brokers",
                )
            except (TransportError, ProtocolError) as error:
                told = "; ".join(self._failures.values()) or str(error)
                raise ConnectFailed(
                    f"no broker answers about {_some(self._topics)}: {told}"
                ) from error
            broker = answered.connection.broker
            try:
                return _view_in(answered.answer(), broker, self._topics)
            except RemoteProtocolError as error:
                self._note(broker, f"{broker}: {error}")

    def _next(self, failure: ZkConsumerError | None) -> "_Running | None":
        del failure  # each has been noted
        while self._line:
            broker, connect_ms = self._line.popleft()
            if broker in self._done_with:
                continue
            left_ms = self._deadline_ms - self._clock.now_ms()
            began_ms = self._clock.now_ms()
            try:
                sent = self._send(broker, self._request, max(1, min(connect_ms, left_ms)))
            except TransportError as error:
                self._failures[broker] = str(error)
                if self._clock.now_ms() - began_ms < connect_ms:
                    self._done_with.add(broker)
                continue
            self._failures.setdefault(broker, f"{broker.host}:{broker.port}: no answer in time")
            return _Running(sent, self._note)
        return None

    def _note(self, broker: Broker, failure: str) -> None:
        self._failures[broker] = failure
        self._done_with.add(broker)


class _Running:
    """A broker that is asked: a ``Runner`` that notes how it failed."""

    def __init__(self, sent: _Asked, note: Callable[[Broker, str], None]) -> None:
        self.connection = sent.connection
        self._sent = sent
        self._note = note

    def hear(self, timeout_ms: int) -> Heard:
        """See ``Runner``."""
        broker = self.connection.broker
        try:
            return self._sent.hear(timeout_ms)
        except TransportError as error:
            self._note(broker, str(error))
            raise
        except ProtocolError as error:
            self._note(broker, f"{broker}: {error}")
            raise

    def answer(self) -> MetadataResponse:
        """See ``Sent``."""
        return self._sent.answer()

    def close(self) -> None:
        """See ``Runner``."""
        self._sent.close()


def _view_in(response: MetadataResponse, broker: Broker, topics: Sequence[str]) -> ClusterView:
    codes = {topic.error_code for topic in response.topics}
    if codes == {ErrorCode.INVALID_TOPIC} and not response.brokers:
        raise BrokerError(
            ErrorCode.INVALID_TOPIC,
            "Metadata",
            f"{broker}: one of these topic names is illegal: {_some(topics)}",
        )
    return from_metadata(response, version=METADATA_VERSION)


def _some(topics: Sequence[str]) -> str:
    shown = ", ".join(topics[:10])
    return f"{shown}, ... ({len(topics)} in all)" if len(topics) > 10 else shown or "all topics"
