"""Ensures that a topic exists before it is written to.

From 0.10.1 on the controller creates topics on request (KIP-4), and since 2.8 every broker forwards
the request to it. Older brokers create a topic with their default number of partitions on a
metadata request, if configured so (``auto.create.topics.enable``).
Source: Kafka 0.10.1 and 3.9 ``CreateTopicsRequest``, ``KafkaAdminClient``.
"""

from contextlib import closing
from dataclasses import dataclass
from typing import Final

from zkconsumer.clock import SystemClock
from zkconsumer.cluster.call_deadline import CallDeadline, StopFlag
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    ConfigError,
    RequestTimedOut,
    TransportError,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer, NegotiatedConnection
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.messages.topic_admin import (
    BROKER_DEFAULT,
    FIRST_WITH_DEFAULTS,
    CreateTopicsRequest,
    NewTopic,
)

_BACKOFF_MS: Final = 100
_MOST_REPLICAS: Final = 3
_THERE: Final = frozenset(
    {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.REQUEST_TIMED_OUT}
)
"""The topic is there, or is perhaps being created."""


def ensure_topic(
    client: ClusterClient,
    dialer: BrokerDialer,
    topic: str,
    partitions: int,
    *,
    timeout_ms: int,
    replication_factor: int | None = None,
) -> tuple[int, ...]:
    """Create a topic if it is missing; return when all its partitions have leaders.

    Args:
        client: the client of the cluster; its ``stop`` interrupts this call.
        dialer: opens connections.
        topic: its name.
        partitions: the number of partitions to create.
        timeout_ms: the time limit of the call.
        replication_factor: of a created topic; None for the cluster's default; if a broker can't
            apply that (before 2.4), three, or the number of brokers if that is less.

    Returns:
        Its partition numbers, ascending; maybe not as many as requested if the topic existed, or
        was auto-created by an old broker.

    Raises:
        ConfigError: the brokers don't create topics; the message says what to do.
        BrokerError: the topic is refused; the message names it and the reason.
        RequestTimedOut: a partition has no leader within the time limit.
        ZkConsumerError: as ``ClusterClient.view``.
    """
    deadline = CallDeadline(SystemClock(), StopFlag(), limit_ms=timeout_ms, backoff_ms=_BACKOFF_MS)
    return _Creation(client, dialer, topic, partitions, replication_factor, deadline).run()


@dataclass(frozen=True, slots=True)
class _Creation:
    """One call of ``ensure_topic``. Thread: one."""

    client: ClusterClient
    dialer: BrokerDialer
    topic: str
    partitions: int
    replication_factor: int | None
    deadline: CallDeadline

    def run(self) -> tuple[int, ...]:
        view = self._view()
        must_create = self._is_missing(view)
        while True:
            code = view.errors.get(self.topic)
            if code is not None and not ErrorCode.of(code).retriable:
                raise BrokerError(code, "Metadata", f"topic {self.topic}: {error_name(code)}")
            if must_create and self._is_missing(view):
                must_create = not self._create(view)
            found = view.partitions.get(self.topic, ())
            if found and all(
                TopicPartition(self.topic, number) in view.leaders for number in found
            ):
                return found
            if not self.deadline.pause():
                raise RequestTimedOut(
                    f"topic {self.topic}: not every partition has a leader in time: check that "
                    "enough brokers are up"
                )
            view = self._view()

    def _view(self, *, allow_auto_create: bool = False) -> ClusterView:
        return self.client.view(
            [self.topic],
            timeout_ms=max(1, self.deadline.left_ms),
            allow_auto_create=allow_auto_create,
        )

    def _is_missing(self, view: ClusterView) -> bool:
        return view.errors.get(self.topic) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def _create(self, view: ClusterView) -> bool:
        """Request the topic; return False if the request has to be repeated."""
        if not view.brokers:
            # Only a 0.8 cluster without topics responds like this.
            self._create_on_demand()
            return True
        try:
            connection = self.dialer.dial(
                _broker_to_try(view), timeout_ms=max(1, self.deadline.left_ms)
            )
            with closing(connection):
                if connection.versions.has(ApiKey.CREATE_TOPICS):
                    return self._request(connection, view)
                self._create_on_demand()
                return True
        except TransportError:
            if self.deadline.left_ms <= 0:
                raise
            return False

    def _request(self, connection: NegotiatedConnection, view: ClusterView) -> bool:
        """Request the topic; return False if the request may be repeated."""
        takes_defaults = connection.version_of(CreateTopicsRequest) >= FIRST_WITH_DEFAULTS
        replicas = self.replication_factor
        if replicas is None:
            replicas = BROKER_DEFAULT if takes_defaults else min(_MOST_REPLICAS, len(view.brokers))
        left_ms = max(1, self.deadline.left_ms)
        new = NewTopic(name=self.topic, num_partitions=self.partitions, replication_factor=replicas)
        request = CreateTopicsRequest(topics=(new,), timeout_ms=left_ms)
        for created in connection.call(request, timeout_ms=left_ms).topics:
            code = created.error_code
            if code in _THERE:
                continue
            if ErrorCode.of(code).retriable:
                return False
            reported = f": {created.error_message}" if created.error_message else ""
            raise BrokerError(
                code,
                "CreateTopics",
                f"topic {created.name} could not be created: {error_name(code)}{reported}",
            )
        return True

    def _create_on_demand(self) -> None:
        """Auto-create the topic, on brokers that lack CreateTopics."""
        if self._is_missing(self._view(allow_auto_create=True)):
            raise ConfigError(
                f"topic {self.topic} missing, and the brokers, older than Kafka 0.10.1, create no "
                "topics on demand (auto.create.topics.enable=false): create with Kafka's own tools"
            )


def _broker_to_try(view: ClusterView) -> Broker:
    """Return the controller; any broker if it is unknown, or not a broker (Kafka 4)."""
    controller = view.brokers.get(-1 if view.controller_id is None else view.controller_id)
    return controller or next(iter(view.brokers.values()))
