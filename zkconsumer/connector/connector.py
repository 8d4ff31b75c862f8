"""The public class of the ZooKeeper high-level consumer.

Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector``; docs/architecture.md draws its threads.
"""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Self, TypeVar, overload

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.clock import SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.arguments import (
    check_filter,
    check_offsets,
    check_stream_count,
    check_topic_counts,
)
from zkconsumer.connector.assembly import ConnectorComponents, assemble
from zkconsumer.connector.measuring.mbeans import MBean, mbeans
from zkconsumer.connector.measuring.numbers import ConnectorNumbers
from zkconsumer.connector.member_calls import MemberCalls
from zkconsumer.connector.stream_maker import StreamMaker
from zkconsumer.errors import ConfigError
from zkconsumer.membership.zookeeper.threads.listener_calls import ReleaseListener
from zkconsumer.membership.zookeeper.threads.subscription import (
    FilterSubscription,
    StaticSubscription,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.net.security import security_in
from zkconsumer.observe import Observer
from zkconsumer.printable import shortlist, shown
from zkconsumer.streams.message import Decoder
from zkconsumer.streams.stream import KafkaStream

K = TypeVar("K")
V = TypeVar("V")
log = logging.getLogger(__name__)


class ZookeeperConsumerConnector:
    """Reads topics as a member of a consumer group that is kept in ZooKeeper.

    It can share a group with the original Scala consumer of Kafka 0.8. Each stream is read by a
    thread of the caller. Use it as a context manager, or call ``shutdown()``.

    Args:
        config: see ``ConsumerConfig``; ``zookeeper.connect`` and ``group.id`` are required.
        observers: receive every event; see ``Observer``.
        ssl_context: verifies brokers and holds our certificate; None: made from the TLS settings.
        sasl_oauth_token_provider: for ``sasl.mechanism=OAUTHBEARER``: a function that returns a
            token, or an object with ``token()``; called by the thread that opens a connection.

    Raises:
        ConfigError: a setting is invalid, or a file or library that security needs can't be used.
        RegistryError: ZooKeeper can't be reached within ``zookeeper.connection.timeout.ms``; the
            chroot does not exist; or it holds no cluster, and another one does.

    Example:
        >>> config = ConsumerConfig(
        ...     zookeeper_connect="zk1:2181/kafka",
        ...     group_id="billing",
        ...     auto_offset_reset="smallest",
        ...     consumer_timeout_ms=500,
        ... )
        >>> with ZookeeperConsumerConnector(config) as connector:
        ...     [stream] = connector.create_message_streams({"clicks": 1})["clicks"]
        ...     message = next(stream)
        ...     print(message.partition, message.offset, message.value)
        0 0 b'/index.html'
    """

    _subscription = ""
    """What the streams read, for ``repr``; empty before they are created."""

    def __init__(
        self,
        config: ConsumerConfig,
        *,
        observers: Sequence[Observer] = (),
        ssl_context: ssl.SSLContext | None = None,
        sasl_oauth_token_provider: object = None,
    ) -> None:
        if not isinstance(config, ConsumerConfig):
            raise ConfigError(
                f"{type(config).__name__} is not a configuration: give a ConsumerConfig"
            )
        self.config = config
        security = security_in(
            config.security_values,
            ssl_context=ssl_context,
            token_provider=sasl_oauth_token_provider,
        )
        self._parts: ConnectorComponents = assemble(
            config, SystemClock(), observers=observers, security=security
        )
        self._calls = MemberCalls(self._parts)
        self._calls.start()

    @property
    def consumer_id(self) -> str:
        """The name of this member in its group, as in ``/consumers/<group>/ids``."""
        return self._parts.context.name.consumer_id

    @overload
    def create_message_streams(
        self, topic_counts: Mapping[str, int]
    ) -> dict[str, list[KafkaStream[bytes, bytes]]]: ...
    @overload
    def create_message_streams(
        self,
        topic_counts: Mapping[str, int],
        key_decoder: Decoder[K],
        value_decoder: Decoder[V],
    ) -> dict[str, list[KafkaStream[K, V]]]: ...
    @overload
    def create_message_streams(
        self, topic_counts: Mapping[str, int], *, value_decoder: Decoder[V]
    ) -> dict[str, list[KafkaStream[bytes, V]]]: ...
    @overload
    def create_message_streams(
        self, topic_counts: Mapping[str, int], *, key_decoder: Decoder[K]
    ) -> dict[str, list[KafkaStream[K, bytes]]]: ...

    def create_message_streams(
        self,
        topic_counts: Mapping[str, int],
        key_decoder: Decoder[K] | None = None,
        value_decoder: Decoder[V] | None = None,
    ) -> object:
        """Join the group and read these topics, each with this many streams.

        Returns when the partitions assigned to this member are being read. If the group has more
        streams than partitions, some streams get no messages until other members leave.

        Args:
            topic_counts: the number of streams of each topic, at least 1. A topic that does not
                exist yet is read as soon as it does. An empty map joins the group and owns nothing.
            key_decoder: converts the bytes of a key to ``message.key``; null stays None.
            value_decoder: the same for the value.

        Returns:
            The streams of each topic; iterate each in a thread of its own.

        Raises:
            MessageStreamsExist: the streams of this connector were created before.
            ConfigError: a topic name or a number of streams is invalid.
            RebalanceFailed: no assignment after ``rebalance.max.retries`` tries; the member has
                left the group again.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.

        Thread: any, once.
        Source: Kafka 0.8.2.2 ``ConsumerConnector.createMessageStreams``.
        """
        check_topic_counts(topic_counts)
        self._calls.claim_creation()
        streams = self._streams()
        queues = {topic: streams.new_queues(count) for topic, count in topic_counts.items()}
        self._calls.join(StaticSubscription(queues))
        self._subscription = f"topics [{shortlist(topic_counts)}]"
        return {
            topic: streams.new_streams(of_topic, topic, key_decoder, value_decoder)
            for topic, of_topic in queues.items()
        }

    @overload
    def create_message_streams_by_filter(
        self, topic_filter: Whitelist | Blacklist, num_streams: int = 1
    ) -> list[KafkaStream[bytes, bytes]]: ...
    @overload
    def create_message_streams_by_filter(
        self,
        topic_filter: Whitelist | Blacklist,
        num_streams: int = 1,
        *,
        key_decoder: Decoder[K],
        value_decoder: Decoder[V],
    ) -> list[KafkaStream[K, V]]: ...
    @overload
    def create_message_streams_by_filter(
        self,
        topic_filter: Whitelist | Blacklist,
        num_streams: int = 1,
        *,
        value_decoder: Decoder[V],
    ) -> list[KafkaStream[bytes, V]]: ...
    @overload
    def create_message_streams_by_filter(
        self,
        topic_filter: Whitelist | Blacklist,
        num_streams: int = 1,
        *,
        key_decoder: Decoder[K],
    ) -> list[KafkaStream[K, bytes]]: ...

    def create_message_streams_by_filter(
        self,
        topic_filter: Whitelist | Blacklist,
        num_streams: int = 1,
        *,
        key_decoder: Decoder[K] | None = None,
        value_decoder: Decoder[V] | None = None,
    ) -> object:
        """Join the group and read all topics that the filter allows, present and future.

        Args:
            topic_filter: a ``Whitelist`` or ``Blacklist`` with a Java regular expression.
            num_streams: how many streams share the topics.
            key_decoder: see ``create_message_streams``.
            value_decoder: see ``create_message_streams``.

        Returns:
            The streams; iterate each in a thread of its own.

        Raises:
            MessageStreamsExist: the streams of this connector were created before.
            ConfigError: the filter or the number of streams is invalid.
            RebalanceFailed: as ``create_message_streams``.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.

        Thread: any, once.
        Source: Kafka 0.8.2.2 ``ConsumerConnector.createMessageStreamsByFilter``.
        """
        check_filter(topic_filter)
        check_stream_count(num_streams, f"filter {topic_filter.pattern}")
        self._calls.claim_creation()
        streams = self._streams()
        queues = streams.new_queues(num_streams)
        self._calls.join(FilterSubscription(topic_filter, queues))
        self._subscription = f"{type(topic_filter).__name__}({shown(topic_filter.pattern)})"
        return streams.new_streams(queues, None, key_decoder, value_decoder)

    def set_consumer_rebalance_listener(self, listener: ReleaseListener | None) -> None:
        """Set the listener that is called in every rebalance, from the first on.

        Args:
            listener: see ``ReleaseListener``; None: no listener.

        Raises:
            MessageStreamsExist: the streams of this connector were created before.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.

        Thread: any, before the streams are created.
        Source: Kafka 0.9.0 ``ConsumerConnector.setConsumerRebalanceListener``.
        """
        self._calls.check_fresh()
        self._parts.member.listener.listener = listener

    def commit_offsets(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        retry_on_failure: bool = True,  # noqa: FBT001, FBT002 - the original's signature
    ) -> int:
        """Commit all messages that the streams have handed over so far; or only `offsets`.

        Args:
            offsets: the *next* offset to read of each partition, with metadata if offsets are
                kept in Kafka. They may be smaller than the committed ones. None: all messages
                handed over.
            retry_on_failure: whether to retry after errors that may pass (with offsets in Kafka:
                ``offsets.commit.max.retries`` times).

        Returns:
            The number of partitions whose offsets were written.

        Raises:
            OffsetCommitFailed: names the partitions whose offsets could not be written, or that
                this member does not own: another member's offsets are never changed.
            ConfigError: `offsets` is no map of partitions to offsets.
            ConsumerClosed: the connector was shut down.
            ConsumerForked: this is a child of the connector's process.

        Thread: any; also from the rebalance listener.
        Source: Kafka 0.8.2.2 ``ConsumerConnector.commitOffsets``.
        """
        self._parts.context.fork_guard.check()
        return self._calls.commit(check_offsets(offsets), retry=retry_on_failure)

    async def commit_offsets_async(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None,
        retry_on_failure: bool = True,  # noqa: FBT001, FBT002 - the original's signature
    ) -> int:
        """Run ``commit_offsets`` in an executor, without blocking the event loop.

        Args:
            offsets: see ``commit_offsets``.
            retry_on_failure: see ``commit_offsets``.

        Returns:
            The number of partitions whose offsets were written.

        Raises:
            ZkConsumerError: any error that ``commit_offsets`` raises.

        Thread: any event loop's.
        Source: this project; ``commit_offsets`` is its model.
        """
        commit = partial(self.commit_offsets, offsets, retry_on_failure)
        return await asyncio.get_running_loop().run_in_executor(None, commit)

    async def shutdown_async(self) -> None:
        """Run ``shutdown`` in an executor, without blocking the event loop.

        Raises:
            ConsumerForked: this is a child of the connector's process.

        Thread: any event loop's.
        Source: this project; ``shutdown`` is its model.
        """
        await asyncio.get_running_loop().run_in_executor(None, self.shutdown)

    def shutdown(self) -> None:
        """Leave the group: stop, commit the consumed messages (auto-commit), release, disconnect.

        Every stream ends. Takes at most ``shutdown.timeout.ms``; may be called again. Called by the
        rebalance listener, it only requests the shutdown, which follows the rebalance.

        Raises:
            ConsumerForked: this is a child of the connector's process.

        Thread: any, and any signal handler.
        Source: Kafka 0.8.2.2 ``ConsumerConnector.shutdown``.
        """
        self._parts.context.fork_guard.check()
        self._calls.shut_down()

    def metrics(self) -> dict[str, MBean]:
        """Return the attributes of each of the original's MBeans, by MBean name.

        Rates are per second, times in ms; see docs/metrics.md.

        Returns:
            Numbers by attribute; empty after the shutdown, which removes the metrics of this
            connector, and no others.

        Raises:
            ConsumerForked: this is a child of the connector's process.

        Thread: any.
        Source: the MBeans of Kafka 0.8.2.2 and 0.9.0.
        """
        return {} if self.closed else mbeans(self.numbers())

    @property
    def closed(self) -> bool:
        """Whether the member has left, or its control thread has died. Thread: any."""
        return self._parts.member.control.done

    def numbers(self) -> ConnectorNumbers:
        """Return all measurements, the original's and ours; works after the shutdown, too.

        Returns:
            The numbers at one moment; times in ms.

        Raises:
            ConsumerForked: this is a child of the connector's process.

        Thread: any.
        Source: this project; the numbers of the MBeans are among them.
        """
        self._parts.context.fork_guard.check()
        return self._parts.measuring.read()

    def __repr__(self) -> str:
        kind, group = type(self).__name__, shown(self.config.group_id)
        if self._parts.context.fork_guard.forked:
            state = "forked"
        elif self._parts.member.control.done:
            state = "closed"
        else:
            state = self._subscription or "no streams"
        return f"<{kind} group_id={group}, consumer_id={shown(self.consumer_id)}, {state}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._parts.context.fork_guard.forked:
            return  # a child process exiting with an error: do not hide it behind ConsumerForked
        self.shutdown()

    def _streams(self) -> StreamMaker:
        return StreamMaker(self._parts, self._calls.commit_ahead)
