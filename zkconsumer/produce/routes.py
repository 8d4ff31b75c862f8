"""The way to partitions: who leads each, and one connection kept to each leader."""

from collections.abc import Iterable, Mapping, Sequence

from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.cluster.view import ClusterView
from zkconsumer.errors import BrokerError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.connection import BrokerConnection
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.wire.error_codes import ErrorCode, error_name


class Routes:
    """Leaders and connections, kept until they are known to be wrong. Thread: one at a time.

    Args:
        brokers: whom to ask for leaders.
        connector: connects to them; over TCP unless told otherwise.
        client_id: sent with every request.
        timeout_ms: how long connecting, and each question for leaders, may take.
        by_name: ask for topics by name: less to answer, but some brokers create what is missing.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        connector: Connector | None = None,
        client_id: str,
        timeout_ms: int,
        by_name: bool = True,
    ) -> None:
        self._brokers = tuple(brokers)
        self._by_name = by_name
        self._opener = BrokerConnector(
            connector or TcpConnector(), client_id=client_id, timeout_ms=timeout_ms
        )
        self._metadata = MetadataReader(
            self._opener.open, timeout_ms=timeout_ms, shuffle=lambda _brokers: None
        )
        self._connections: dict[Broker, BrokerConnection] = {}
        self._leaders: dict[TopicPartition, Broker] = {}

    def whole_cluster(self) -> ClusterView:
        """Every topic there is. Naming one that is missing would make some brokers create it.

        Raises:
            TransportError: no broker answers.
        """
        view = self._metadata.read(self._brokers, (), all_topics=True)
        self._leaders.update(view.leaders)
        return view

    def leader_of(self, tp: TopicPartition) -> Broker:
        """Who leads a partition.

        Raises:
            BrokerError: it has no leader now, or is not there.
            TransportError: no broker answers.
        """
        found = self.leaders_of([tp])[tp]
        if isinstance(found, BrokerError):
            raise found
        return found

    def leaders_of(
        self, wanted: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, Broker | BrokerError]:
        """Who leads these partitions, or why that is not known; at most one question.

        Raises:
            BrokerError: the broker refused the whole question.
            TransportError: no broker answers.
        """
        found: dict[TopicPartition, Broker | BrokerError] = {}
        unknown = []
        for tp in wanted:
            leader = self._leaders.get(tp)
            if leader is None:
                unknown.append(tp)
            else:
                found[tp] = leader
        if unknown:
            view = self._look(sorted({tp.topic for tp in unknown}))
            for tp in unknown:
                found[tp] = view.leaders.get(tp) or _no_leader(tp, view)
        return found

    def _look(self, topics: Sequence[str]) -> ClusterView:
        if not self._by_name:
            return self.whole_cluster()
        view = self._metadata.read(self._brokers, topics)
        self._leaders.update(view.leaders)
        return view

    def connection_to(self, leader: Broker) -> BrokerConnection:
        """The connection that is kept to a broker, opened where there is none.

        Raises:
            ConnectFailed: naming its address.
        """
        connection = self._connections.get(leader)
        if connection is None:
            connection = self._connections[leader] = self._opener.open(leader)
        return connection

    def forget(self, tp: TopicPartition) -> None:
        """Ask for this partition's leader again, the next time that it is wanted."""
        self._leaders.pop(tp, None)

    def hang_up(self, leader: Broker) -> None:
        """Close the connection to a broker, if there is one."""
        connection = self._connections.pop(leader, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close all connections."""
        for leader in list(self._connections):
            self.hang_up(leader)


def _no_leader(tp: TopicPartition, view: ClusterView) -> BrokerError:
    code = view.leaderless.get(tp, view.errors.get(tp.topic, 0)) or ErrorCode.LEADER_NOT_AVAILABLE
    known = {one.topic for one in (*view.leaders, *view.leaderless)}
    if tp.topic not in known and tp.topic not in view.errors:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return BrokerError(code, "Metadata", f"{tp} has no leader: {error_name(code)}", tp)
