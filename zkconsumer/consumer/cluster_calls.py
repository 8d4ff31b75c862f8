"""The calls of a ``KafkaConsumer`` about the cluster, for any partition, assigned or not."""

from collections.abc import Collection, Mapping

from zkconsumer.cluster.cluster_client import TimedOffset
from zkconsumer.consumer.arguments import partition_of, partitions_of, time_of, timeout_of
from zkconsumer.consumer.closing import public_call
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.settings_of import isolation_of
from zkconsumer.consumer.subscription import INTERNAL_TOPICS
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    BrokerError,
    BrokerTimedOut,
    IllegalArgumentError,
    RequestTimedOut,
    TopicAuthorizationFailed,
)
from zkconsumer.fetch.core.starts import EARLIEST, LATEST
from zkconsumer.model import OffsetAndTimestamp, TopicPartition
from zkconsumer.printable import shown
from zkconsumer.topic_name import is_topic_name


class ClusterCalls:
    """The calls that request data about the cluster from brokers. Thread: the caller's."""

    _parts: ConsumerComponents
    _has_result = False

    @public_call
    def beginning_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the first offset that each log still has.

        Args:
            partitions: partitions of any topics, assigned or not.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            The offset of each given partition.

        Raises:
            ConfigError: an argument is invalid.
            TransportError: no broker responded in time; ``RequestTimedOut``, and a ``BrokerError``
                too, if the last response was a retriable error, such as an unknown partition.
            BrokerError: a broker refused the request.
            TopicAuthorizationFailed: this client may not read the topic.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.beginningOffsets``.
        """
        found = self._request(dict.fromkeys(partitions_of(partitions), int(EARLIEST)), timeout_ms)
        return {tp: offset.offset for tp, offset in found.items()}

    @public_call
    def end_offsets(
        self, partitions: Collection[TopicPartition], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        """Return the end of each log: the offset after the last record that we may read.

        Args:
            partitions: partitions of any topics, assigned or not.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            The offset of each given partition: the high watermark; with ``read_committed`` the last
            stable offset.

        Raises:
            ConfigError: an argument is invalid.
            TransportError: no broker responded in time; ``RequestTimedOut``, and a ``BrokerError``
                too, if the last response was a retriable error, such as an unknown partition.
            BrokerError: a broker refused the request.
            TopicAuthorizationFailed: this client may not read the topic.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.endOffsets``.
        """
        found = self._request(dict.fromkeys(partitions_of(partitions), int(LATEST)), timeout_ms)
        return {tp: offset.offset for tp, offset in found.items()}

    @public_call
    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """Return, for each partition, the first record that is not older than a given time.

        Args:
            timestamps: the time to look up in each partition, in milliseconds since the epoch.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            For each given partition, the record's offset and its own timestamp; None if all records
            are older, or have no timestamp.

        Raises:
            UnsupportedVersion: the brokers are older than 0.10.1.
            ConfigError: an argument is invalid.
            TransportError: no broker responded in time; ``RequestTimedOut``, and a ``BrokerError``
                too, if the last response was a retriable error, such as an unknown partition.
            BrokerError: a broker refused the request.
            TopicAuthorizationFailed: this client may not read the topic.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.offsetsForTimes`` (KIP-79).
        """
        if not isinstance(timestamps, Mapping):
            raise IllegalArgumentError(
                f"timestamps {shown(timestamps)}: give a map from partition to time"
            )
        times: dict[TopicPartition, int] = {}
        for key, time_ms in timestamps.items():
            times[partition_of(key)] = time_of(time_ms, f"{key}")
        found = self._request(times, timeout_ms)
        return {
            tp: None
            if found_offset.offset < 0
            else OffsetAndTimestamp(
                found_offset.offset,
                found_offset.timestamp,
                -1 if found_offset.leader_epoch is None else found_offset.leader_epoch,
            )
            for tp, found_offset in found.items()
        }

    @public_call
    def topics(self, timeout_ms: float | None = None) -> set[str]:
        """Return all topics that this client is allowed to see.

        Internal topics are omitted, unless ``exclude_internal_topics`` is off.

        Args:
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            Their names.

        Raises:
            ConfigError: the time-out is invalid.
            TransportError: no broker responded in time.
            AuthenticationFailed: the brokers refused our credentials.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.listTopics``; kafka-python ``KafkaConsumer.topics``.
        """
        parts = self._parts
        with parts.one_caller:
            limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
            view = parts.client.view(None, timeout_ms=limit_ms)
        hidden = view.internal | INTERNAL_TOPICS
        return set(view.partitions) - (
            hidden if parts.config.exclude_internal_topics else frozenset()
        )

    @public_call
    def partitions_for_topic(self, topic: str, timeout_ms: float | None = None) -> set[int]:
        """Return the partition numbers of a topic; empty if there is no such topic.

        Args:
            topic: its name.
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.

        Returns:
            The numbers, from 0 on.

        Raises:
            ConfigError: the time-out is invalid.
            TransportError: no broker responded in time.
            AuthenticationFailed: the brokers refused our credentials.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.partitionsFor``; kafka-python
            ``KafkaConsumer.partitions_for_topic``.
        """
        parts = self._parts
        with parts.one_caller:
            if not is_topic_name(topic):
                return set()  # no cluster has such a topic
            known = parts.metadata.view.partitions.get(topic)
            if known is None:
                limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
                view = parts.client.view({topic}, timeout_ms=limit_ms)
                known = view.partitions.get(topic, ())
        return set(known)

    @public_call
    def bootstrap(
        self,
        timeout_ms: float | None = None,
        refresh: bool = False,  # noqa: FBT001, FBT002 - kafka-python's signature
    ) -> None:
        """Wait for the first metadata of the cluster; other calls wait for it only if they need it.

        Args:
            timeout_ms: how long to wait, in ms; None: ``default_api_timeout_ms``.
            refresh: whether to request metadata even if some is known.

        Raises:
            ConfigError: the time-out is invalid.
            TransportError: no broker responded in time.
            AuthenticationFailed: the brokers refused our credentials.
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: kafka-python ``KafkaConsumer.bootstrap``.
        """
        parts = self._parts
        with parts.one_caller:
            if refresh or not parts.metadata.view.brokers:
                limit_ms = timeout_of(timeout_ms, parts.config.default_api_timeout_ms)
                parts.client.view(frozenset(), timeout_ms=limit_ms)
                self._has_result = True

    @public_call
    def bootstrap_connected(self) -> bool:
        """Return whether a broker has responded, and the last metadata request succeeded.

        Returns:
            True also while no connection is open: connections are opened when they are needed.

        Thread: any, also while another one polls.
        Source: kafka-python ``KafkaConsumer.bootstrap_connected``.
        """
        metadata = self._parts.metadata
        return metadata.failure is None and (self._has_result or bool(metadata.view.brokers))

    def _request(
        self, times: dict[TopicPartition, int], timeout_ms: float | None
    ) -> dict[TopicPartition, TimedOffset]:
        limit_ms = timeout_of(timeout_ms, self._parts.config.default_api_timeout_ms)
        found: dict[TopicPartition, TimedOffset] = {}
        for tp, response in self._responses(times, limit_ms).items():
            if isinstance(response, TimedOffset):
                found[tp] = response
            elif response == ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                raise TopicAuthorizationFailed([tp.topic])
            elif response == ErrorCode.NETWORK_EXCEPTION:
                raise RequestTimedOut(f"{tp}: its leader returned no offset within {limit_ms} ms")
            else:
                kind = BrokerTimedOut if ErrorCode.of(response).retriable else BrokerError
                raise kind(response, "ListOffsets", f"{tp}: no offset: {error_name(response)}", tp)
        return found

    def _responses(
        self, times: dict[TopicPartition, int], limit_ms: int
    ) -> Mapping[TopicPartition, TimedOffset | int]:
        """Return the offset of each partition, or an error code in its place."""
        parts = self._parts
        with parts.one_caller:
            if not times:
                return {}
            return parts.client.list_offsets(
                times, timeout_ms=limit_ms, isolation=isolation_of(parts.config)
            )
