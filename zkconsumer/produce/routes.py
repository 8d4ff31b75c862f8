"""Finds the leader of each partition, and keeps a connection to each leader."""

from collections.abc import Iterable, Mapping, Sequence

from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import BrokerError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection


class Routes:
    """Caches leaders and connections until they prove wrong. Thread: one at a time.

    Args:
        dialer: opens connections; a copy of it is used, which is stopped with this object.
        timeout_ms: time limit of a broker's response to a metadata request.
        creating: whether metadata requests let brokers create topics, if they are configured so.
    """

    def __init__(
        self,
        brokers: Sequence[Broker],
        *,
        dialer: BrokerDialer,
        timeout_ms: int,
        creating: bool = True,
    ) -> None:
        self._dialer = dialer.sibling()
        self._creating = creating
        self._limit_ms = timeout_ms * max(1, len(brokers))
        # No second round: the caller counts its attempts, and pauses between them itself.
        self._client = ClusterClient(
            self._dialer,
            brokers,
            request_timeout_ms=timeout_ms,
            retry_backoff_ms=self._limit_ms,
            shuffle=lambda _brokers: None,
        )
        self._connections: dict[Broker, NegotiatedConnection] = {}
        self._leaders: dict[TopicPartition, Broker] = {}
        self._stopped = False

    def whole_cluster(self) -> ClusterView:
        """Look up all topics; create none.

        Raises:
            ZkConsumerError: as ``ClusterClient.view``.
        """
        view = self._client.view(None, timeout_ms=self._limit_ms)
        self._leaders.update(view.leaders)
        return view

    def leaders_of(
        self, wanted: Iterable[TopicPartition]
    ) -> Mapping[TopicPartition, Broker | BrokerError]:
        """Return the leaders of partitions, or why they are unknown, with at most one lookup.

        Raises:
            ZkConsumerError: as ``ClusterClient.view``.
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
            view = self._client.view(
                sorted({tp.topic for tp in unknown}),
                timeout_ms=self._limit_ms,
                allow_auto_create=self._creating,
            )
            self._leaders.update(view.leaders)
            for tp in unknown:
                found[tp] = view.leaders.get(tp) or _no_leader(tp, view)
        return found

    def connection_to(self, leader: Broker) -> NegotiatedConnection:
        """Return the connection to a broker; dial if there is none.

        Raises:
            ZkConsumerError: as ``BrokerDialer.dial``.
        """
        connection = self._connections.get(leader)
        if connection is None:
            connection = self._connections[leader] = self._dialer.dial(leader)
            if self._stopped:
                connection.close()
        return connection

    def forget(self, tp: TopicPartition) -> None:
        """Forget a partition's leader, which is looked up again when it is next needed."""
        self._leaders.pop(tp, None)

    def hang_up(self, leader: Broker) -> None:
        """Close the connection to a broker, if there is one."""
        connection = self._connections.pop(leader, None)
        if connection is not None:
            connection.close()

    def stop(self) -> None:
        """Close all connections and dial no more; waiting calls end. Idempotent. Thread: any."""
        self._stopped = True
        self._dialer.stop()
        self._client.stop()
        # An atomic copy, since a working thread may open or close a connection now.
        for connection in list(self._connections.values()):
            connection.close()


def _no_leader(tp: TopicPartition, view: ClusterView) -> BrokerError:
    code = view.leaderless.get(tp, view.errors.get(tp.topic, 0)) or ErrorCode.LEADER_NOT_AVAILABLE
    known = {tp.topic for tp in (*view.leaders, *view.leaderless)}
    if tp.topic not in known and tp.topic not in view.errors:
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return BrokerError(code, "Metadata", f"{tp} has no leader: {error_name(code)}", tp)
