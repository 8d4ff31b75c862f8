"""The public class of the poll API.

Source: Kafka ``KafkaConsumer``; names as in kafka-python. docs/poll-api.md says what differs.
"""

from collections.abc import Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, NoReturn, Self, Unpack, cast, overload

from zkconsumer.consumer.arguments import count_of, partitions_of, timeout_of
from zkconsumer.consumer.arrow_polls import ArrowPolls
from zkconsumer.consumer.assembly import assemble
from zkconsumer.consumer.closing import close, public_call
from zkconsumer.consumer.cluster_calls import ClusterCalls
from zkconsumer.consumer.commit_calls import CommitCalls
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.described import described_consumer
from zkconsumer.consumer.handing_out import Starts, confirm_or_put_back, deliver
from zkconsumer.consumer.iteration import Slices, starts_of
from zkconsumer.consumer.listener import PollListener
from zkconsumer.consumer.metrics import Metric, MetricName, metrics_of, raw_of
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.position_calls import PositionCalls
from zkconsumer.consumer.settings.confluent_names import (
    advice_on_dict,
    in_milliseconds,
    refuse_method,
)
from zkconsumer.errors import IllegalArgumentError, IllegalState
from zkconsumer.model import TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord

if TYPE_CHECKING:
    from zkconsumer.assignment.filters import Blacklist, Whitelist
    from zkconsumer.consumer.settings.typed import KafkaConsumerSettings


class KafkaConsumer(ArrowPolls, CommitCalls, PositionCalls, ClusterCalls):
    """Reads records by polling, from Kafka brokers of any version from 0.8 on.

    The members of a group share the partitions of its topics: a broker coordinates them (0.9 and
    later), or, with ``zookeeper_connect``, ZooKeeper does, as for the consumers of 0.8. Without a
    group the consumer reads all partitions of its topics, or those given to ``assign``.

    One thread at a time polls, seeks, subscribes and commits. Any thread, and any signal handler,
    may call ``wakeup`` and ``close``; any thread may read its state (``assignment``,
    ``subscription``, ``position``, ``highwater``, ``paused``, ``group_metadata``, ``metrics``),
    ``pause`` and ``resume``. Use it as a context manager, or call ``close()``.

    Args:
        *topics: topics to subscribe to; none: call ``subscribe`` or ``assign`` later.
        config: settings by their keys, ``{"group.id": "g"}``.
        **settings: settings as keyword arguments, ``group_id="g"``, which take precedence; see the
            table in docs/poll-api.md.

    Attributes:
        DEFAULT_CONFIG: all settings with their defaults, as in kafka-python. A subclass may define
            its own; changing this one has no effect.
        config: the settings of this consumer, as attributes and as a map; ``config["api_version"]``
            is the release of the broker that responded, such as (2, 8), if none was given.

    Raises:
        ConfigError: a setting is invalid or unknown; names it.
        NoBrokersAvailable: no broker responded within ``bootstrap_timeout_ms``; names each, and the
            reason.
        AuthenticationFailed, UnsupportedVersion, ProtocolError: the servers that responded refuse
            our credentials, are too old, or are no brokers.
        RegistryError: ZooKeeper did not respond; only with ``zookeeper_connect``.

    Example:
        >>> with KafkaConsumer(
        ...     "clicks",
        ...     bootstrap_servers="kafka1:9092",
        ...     auto_offset_reset="earliest",
        ...     consumer_timeout_ms=500,
        ... ) as consumer:
        ...     for record in consumer:
        ...         print(record.offset, record.value)
        0 b'/index.html'
        1 b'/about.html'
    """

    DEFAULT_CONFIG: ClassVar[dict[str, object]] = dict(PollConfig())

    def __init__(
        self,
        *topics: str,
        config: Mapping[str, object] | None = None,
        **settings: "Unpack[KafkaConsumerSettings]",
    ) -> None:
        if topics and isinstance(topics[0], Mapping):
            raise IllegalArgumentError(advice_on_dict(topics[0]))
        given: KafkaConsumerSettings = {**self._own_defaults(), **settings}
        self.config = PollConfig(config, **given)
        self._parts: ConsumerComponents = assemble(self.config)
        self._walk = self._parts.session.walk
        try:
            if self.config.connects_at_once:
                self.config = self.config.with_found(self._parts.connect(topics))
            if topics:
                self.subscribe(topics)
        except BaseException:
            self.close(autocommit=False)
            raise

    if not TYPE_CHECKING:  # type checkers should report what does not exist

        def __getattr__(self, name: str) -> NoReturn:
            refuse_method(type(self).__name__, name)

    @classmethod
    def _own_defaults(cls) -> "KafkaConsumerSettings":
        """Return the settings that a subclass changed in ``DEFAULT_CONFIG``."""
        usual = KafkaConsumer.DEFAULT_CONFIG
        if cls.DEFAULT_CONFIG is usual:
            return {}
        absent = object()
        changed = {
            name: value
            for name, value in cls.DEFAULT_CONFIG.items()
            if usual.get(name, absent) != value
        }
        return cast("KafkaConsumerSettings", changed)

    @public_call
    def subscribe(
        self,
        topics: Collection[str] = (),
        pattern: "str | Whitelist | Blacklist | None" = None,
        listener: PollListener | None = None,
    ) -> None:
        """Subscribe to topics, in place of the earlier ones; the next polls join the group.

        Args:
            topics: names of topics. A topic that does not exist yet is read as soon as it does.
            pattern: instead of topics: a regular expression, matched from the beginning of every
                topic's name, present and future; or a filter, a Java regular expression that
                matches whole names.
            listener: called when partitions are assigned and revoked, see
                ``ConsumerRebalanceListener``; replaces the earlier one.

        Raises:
            ConfigError: neither topics nor a pattern is given, or they are invalid.
            IllegalState: both are given, or partitions are assigned already, or another thread is
                in a call of this consumer, or this is its listener during ``unsubscribe``.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.subscribe``.
        """
        with self._parts.one_caller:
            self._parts.session.subscribe(topics, pattern, listener)

    @public_call
    def assign(self, partitions: Collection[TopicPartition]) -> None:
        """Read partitions, in place of earlier ones, whatever other members of the group read.

        Partitions that were read before keep their positions. An empty collection unsubscribes.

        Args:
            partitions: all partitions to read; their topics need not exist yet.

        Raises:
            IllegalState: topics are subscribed, or another thread is in a call of this consumer, or
                this is its listener during ``unsubscribe``.
            ConfigError: an item is no partition.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.assign``.
        """
        # kafka-python accepts None, too.
        chosen = partitions_of(partitions or ())
        if not chosen:
            self.unsubscribe()
            return
        with self._parts.one_caller:
            self._parts.session.assign(chosen)

    @public_call
    def unsubscribe(self) -> None:
        """Stop reading: leave the group, or drop the assigned partitions.

        With ``enable_auto_commit``, the records handed out are committed first.

        Raises:
            IllegalState: another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.
            Exception: the listener's exception; the consumer is unsubscribed nevertheless.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.unsubscribe``.
        """
        with self._parts.one_caller:
            self._parts.session.unsubscribe(self.config.default_api_timeout_ms)

    @public_call
    def enforce_rebalance(self) -> None:
        """Request a rebalance of the group, though nothing has changed (KIP-568).

        Use it if this member's strategy would assign differently now. The next polls take part.

        Raises:
            IllegalState: no topics are subscribed, or another thread is in a call of this consumer.
            ConsumerClosed: the consumer was closed.
            ConsumerForked: this is a forked child.

        Thread: one at a time, as for a poll.
        Source: Kafka ``KafkaConsumer.enforceRebalance`` (KIP-568).
        """
        with self._parts.one_caller:
            if not self._parts.session.subscription.is_group_managed:
                raise IllegalState("no rebalance without a subscription: subscribe to topics first")
            self._parts.session.membership.rejoin()

    @public_call
    def assignment(self) -> set[TopicPartition]:
        """Return the partitions that are read: those of ``assign``, or of the last rebalance.

        Returns:
            A new set.

        Raises:
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.assignment``.
        """
        self._parts.one_caller.check_access()
        return set(self._parts.session.assignment())

    @public_call
    def subscription(self) -> set[str] | None:
        """Return the topics subscribed, or known to match the pattern; None without a subscription.

        Returns:
            A new set of names.

        Raises:
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.subscription``.
        """
        self._parts.one_caller.check_access()
        subscription = self._parts.session.subscription
        return set(subscription.topics) if subscription.is_group_managed else None

    @in_milliseconds
    def poll(
        self,
        timeout_ms: float = 0,
        max_records: int | None = None,
        update_offsets: bool = True,  # noqa: FBT001, FBT002 - kafka-python's signature
    ) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Wait for records, and take part in the group meanwhile.

        Poll again within ``max_poll_interval_ms``, or this member leaves the group.

        Args:
            timeout_ms: how long to wait, in ms, if nothing was fetched yet; 0 does not wait. A
                positional float that looks like seconds, as in ``poll(1.0)``, is refused.
            max_records: the maximum number of records to return; None: ``max_poll_records``.
                Further fetched records wait for the next poll.
            update_offsets: if False, positions stay, so that the next poll returns the same
                records.

        Returns:
            Records by partition, in the order of their offsets. Empty after the time-out, without a
            subscription or assignment, and if a signal handler or another thread called
            ``close()`` meanwhile.

        Raises:
            ConfigError: an argument is invalid, or a positional time-out looks like seconds.
            IllegalState: another thread is in a call of this consumer.
            Woken: ``wakeup()`` was called.
            ConsumerClosed: the consumer was closed before the call.
            NoOffsetForPartition, OffsetOutOfRange, LogTruncated: a position is missing or invalid,
                with ``auto_offset_reset=none``; set one with ``seek``.
            PartitionFailed, MessageTooLarge: the next record of a partition can't be read. Other
                partitions continue; skip the record with ``seek``.
            GroupFailed: the coordinator refuses this member; or, in a ZooKeeper group, it failed.
            AuthenticationFailed, TopicAuthorizationFailed, UnsupportedVersion: brokers refuse this
                client.
            Exception: the listener's exception; the rebalance is complete nevertheless.
            ConsumerForked: this is a forked child.

        Thread: one at a time; listeners and callbacks must not call it.
        Source: Kafka ``KafkaConsumer.poll``; arguments as in kafka-python.
        """
        parts = self._parts
        session = parts.session

        def run(starts: Starts) -> dict[TopicPartition, list[ConsumerRecord]]:
            count = count_of(max_records, self.config.max_poll_records)
            if timeout_ms is None:
                raise IllegalArgumentError(
                    "timeout_ms is None: give milliseconds, or 0 to not wait"
                )

            def take() -> dict[TopicPartition, list[ConsumerRecord]]:
                taken = self._take(count, starts)
                return taken if confirm_or_put_back(parts, starts) else {}

            found = parts.loop.run(
                timeout_of(timeout_ms, 0), partial(session.positions.taking, starts, take)
            )
            if not update_offsets:
                session.positions.put_back_all(starts)
            return found

        return deliver(parts, run, dict)

    def wakeup(self) -> None:
        """End the poll under way, or the next, with ``Woken``.

        Thread: any, and any signal handler.
        Source: Kafka ``KafkaConsumer.wakeup``.
        """
        self._parts.wakeup.wake()

    @overload
    def metrics(self, raw: Literal[False] = False) -> dict[str, dict[str, float]]: ...  # noqa: FBT002
    @overload
    def metrics(self, raw: Literal[True]) -> dict[MetricName, Metric]: ...

    def metrics(
        self,
        raw: bool = False,  # noqa: FBT001, FBT002 - kafka-python's signature
    ) -> dict[str, dict[str, float]] | dict[MetricName, Metric]:
        """Return the metrics by group and name, named as in kafka-python and Java; see the docs.

        Args:
            raw: whether to return all metrics in one map, by names that include their group.

        Returns:
            Numbers; times in ms, rates per second. Empty after ``close``; None if
            ``metrics_enabled`` is off.

        Raises:
            ConsumerClosed: another thread is closing the consumer.
            ConsumerForked: this is a forked child.

        Thread: any, also while another one polls.
        Source: Kafka ``KafkaConsumer.metrics``.
        """
        if not self.config.metrics_enabled:
            return None  # type: ignore[return-value]  # as kafka-python's
        found = self._numbers()
        return raw_of(found) if raw else found

    @public_call
    def _numbers(self) -> dict[str, dict[str, float]]:
        self._parts.one_caller.check_access()
        if self._parts.one_caller.closed:
            return {}
        prefix = self.config.metric_group_prefix
        return {
            prefix + group[len("consumer") :] if group.startswith("consumer") else group: numbers
            for group, numbers in metrics_of(self._parts).items()
        }

    def close(
        self,
        autocommit: bool = True,  # noqa: FBT001, FBT002 - kafka-python's signature
        timeout_ms: float | None = None,
    ) -> None:
        """Commit (with ``enable_auto_commit``), leave the group, and disconnect.

        The listener is notified that all partitions are revoked. May be called again.

        A poll under way ends: it returns nothing, and the records that it was about to return are
        not committed; an iteration ends, too. A signal handler that interrupted a waiting poll, or
        no call, closes the consumer itself. If it interrupted a call in the middle of its work,
        that call closes the consumer when it ends; so does a poll or commit whose listener or
        callback calls this. Another thread waits until the consumer is closed.

        Args:
            autocommit: whether to commit. A ``with`` block that ends with an error does not, since
                it is unknown whether the last record was processed.
            timeout_ms: the time limit in ms; None: ``default_api_timeout_ms``.

        Raises:
            ConfigError: the time-out is invalid.
            RequestTimedOut: another thread's call did not end in time; it closes the consumer when
                it ends.
            ConsumerForked: this is a forked child.
            Exception: the listener's exception; the consumer is closed nevertheless.

        Thread: any, and any signal handler.
        Source: Kafka ``KafkaConsumer.close``.
        """
        limit_ms = timeout_of(timeout_ms, self.config.default_api_timeout_ms)
        close(self._parts, limit_ms, commit=autocommit)

    def __repr__(self) -> str:
        parts: ConsumerComponents | None = self.__dict__.get("_parts")
        if parts is None:
            return f"<{type(self).__name__}, not made>"
        subscription = parts.session.subscription
        return described_consumer(type(self).__name__, self.config, parts.one_caller, subscription)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if error is not None and self._parts.one_caller.is_forked:
            return  # a child process exiting with an error: do not hide it behind ConsumerForked
        self.close(autocommit=error is None)

    def _take(self, count: int, starts: Starts) -> dict[TopicPartition, list[ConsumerRecord]]:
        """Take the records of a poll; put their start positions into ``starts``."""
        parts = self._parts
        session = parts.session
        if session.buffer:
            # First the records that an iteration has taken and not handed out.
            starts.update(session.buffer.positions())
            taken = session.buffer.take(count, session.deliverable())
            for tp in starts.keys() - taken.keys():
                del starts[tp]
            if taken:
                return taken

        def made(slices: Slices) -> dict[TopicPartition, list[ConsumerRecord]]:
            starts.update(starts_of(slices))
            return {tp: part.records(parts.origin(tp)) for tp, part in slices.items()}

        return parts.engine.collect_as(count, made, session.collectable())
