"""The sources of ``perf``: a group in ZooKeeper, or all partitions without a group."""

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from zkconsumer.cli.cluster_access import client_of, open_store, require_brokers, require_zookeeper
from zkconsumer.cli.consume.format import Message
from zkconsumer.cli.groups.removal import GroupRemoval
from zkconsumer.cli.log_lookup import log_ranges
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.cluster_client import LATEST, ClusterClient
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.errors import ConfigError, ConnectFailed, ConsumerClosed, ConsumerTimeout, Woken
from zkconsumer.model import TopicPartition
from zkconsumer.net.bootstrap_servers import parse_bootstrap
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.security import security_in
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk.live_brokers import live_brokers, require_cluster

Lists = Iterator[Sequence[Message]]
"""Lists of messages, possibly empty, until the time-out or a stop."""

_MAX_RECORDS = 500
_TURN_MS = 200
_CHECK_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfOptions:
    """The options of reading.

    Attributes:
        topic: the topic's name.
        streams: the number of reading threads.
        timeout_ms: a stream ends after this time without a message.
        from_latest: whether to begin at the end of the log, not at its beginning.
        one_by_one: whether to take messages one at a time.
        settings: the settings of the consumer, by name.
    """

    topic: str
    streams: int
    timeout_ms: int
    from_latest: bool
    one_by_one: bool
    settings: Mapping[str, str]


class PerfSource:
    """The streams to read, each in a thread of its own.

    Attributes:
        streams: the messages of each stream.
    """

    streams: Sequence[Lists]

    def stop(self) -> None:
        """Make all streams end. Thread: any."""
        raise NotImplementedError

    def whole(self) -> int | None:
        """Return the number of messages in the logs now; None if unknown, or if new ones are read.

        Compacted and transactional logs have fewer: then the streams end by their time-out.

        Raises:
            ZkConsumerError: as ``check``.
        """
        return None

    def check(self) -> None:
        """Raise the reason why no message came, if there is one.

        Raises:
            ConfigError: there is no such topic.
            ZkConsumerError: the topic can't be read: no broker responds, or partitions have no
                leader.
        """
        raise NotImplementedError


@contextmanager
def zookeeper_source(
    options: PerfOptions, group_id: str | None, *, deleting: bool
) -> Iterator[PerfSource]:
    """Open a member of a new group, which is deleted afterwards.

    Args:
        options: the options of reading.
        group_id: the group's name; None: a generated one.
        deleting: whether to delete the group's nodes in ZooKeeper first.

    Raises:
        ConfigError: a setting is invalid, or the group exists and must not be deleted.
        ZkConsumerError: ZooKeeper does not respond, the group has members, or nothing can be read.
    """
    settings = {
        **options.settings,
        "group.id": group_id or f"perf-consumer-{uuid.uuid4().hex[:8]}",
        "auto.offset.reset": "largest" if options.from_latest else "smallest",
        "auto.commit.enable": "false",
        "consumer.timeout.ms": str(options.timeout_ms),
    }
    config = ConsumerConfig.from_properties(settings)
    require_zookeeper(config.zookeeper_connect)
    with open_store(config) as store:
        require_cluster(store, config.zookeeper_connect)
        nodes = GroupRemoval(store, config.group_id)
        if deleting:
            nodes.everything_unless_live()
        elif nodes.exists():
            raise ConfigError(
                f"there is a group {config.group_id} in ZooKeeper, and measuring would disturb "
                "it: leave out --group, or give --delete-consumer-offsets to delete it first"
            )
    with ExitStack() as stack:
        stack.callback(_delete_nodes, config)
        connector = stack.enter_context(ZookeeperConsumerConnector(config))
        streams = connector.create_message_streams({options.topic: options.streams})[options.topic]
        yield _Connected(connector, streams, options)


class _Connected(PerfSource):
    def __init__(
        self,
        connector: ZookeeperConsumerConnector,
        streams: Sequence[KafkaStream[bytes, bytes]],
        options: PerfOptions,
    ) -> None:
        self._connector = connector
        self._topic = options.topic
        self._from_latest = options.from_latest
        self.streams = [self._lists(stream, one_by_one=options.one_by_one) for stream in streams]

    def stop(self) -> None:
        self._connector.shutdown()

    @contextmanager
    def _client(self) -> Iterator[ClusterClient]:
        with ExitStack() as stack:
            config = self._connector.config
            store = stack.enter_context(open_store(config))
            dialer = dialer_of(
                ClientSettings(
                    client_id="zkconsumer-perf",
                    timeout_ms=_CHECK_MS,
                    security=security_in(config.security_values),
                )
            )
            stack.callback(dialer.stop)
            brokers = live_brokers(store, config.zookeeper_connect, config.security_protocol)
            client = client_of(dialer, brokers, _CHECK_MS)
            stack.callback(client.stop)
            yield client

    def whole(self) -> int | None:
        if self._from_latest:
            return None
        with self._client() as client:
            partitions = client.view([self._topic], timeout_ms=_CHECK_MS).partitions
            tps = [
                TopicPartition(self._topic, number) for number in partitions.get(self._topic, ())
            ]
            logs = log_ranges(client, tps, timeout_ms=_CHECK_MS)
        if not tps or len(logs) < len(tps):
            return None  # the number is unknown: read the readable partitions until the time-out
        return sum(log.end - log.start for log in logs.values())

    def check(self) -> None:
        with self._client() as client:
            view = client.view([self._topic], timeout_ms=_CHECK_MS)
            if self._topic not in view.partitions:
                raise _no_topic(self._topic)
            headless = [f"{tp}" for tp in sorted(view.leaderless) if tp.topic == self._topic]
            if headless:
                raise ConnectFailed(f"no leader for {', '.join(headless)}")
            led = dict.fromkeys(view.leaders, LATEST)
            ends = client.list_offsets(led, timeout_ms=_CHECK_MS)
        dumb = [f"{tp}" for tp, end in sorted(ends.items()) if isinstance(end, int)]
        if dumb:
            raise ConnectFailed(f"no response from the leader of {', '.join(dumb)}")

    def _lists(self, stream: KafkaStream[bytes, bytes], *, one_by_one: bool) -> Lists:
        try:
            if one_by_one:
                for message in stream:
                    yield (message,)
            else:
                yield from stream.batches(max_records=_MAX_RECORDS, timeout_ms=_TURN_MS)
        except (ConsumerTimeout, ConsumerClosed):
            return


@contextmanager
def polled_source(options: PerfOptions) -> Iterator[PerfSource]:
    """Open all partitions of the topic, spread over several consumers; no group is joined.

    Raises:
        ConfigError: a setting is invalid, or there is no such topic.
        ZkConsumerError: no broker responds.
    """
    settings = {
        "allow.auto.create.topics": "false",
        **options.settings,
        "enable.auto.commit": "false",
    }
    require_brokers(parse_bootstrap("--bootstrap-server", settings["bootstrap.servers"]))
    with ExitStack() as stack:
        first = stack.enter_context(KafkaConsumer(config=settings))
        numbers = sorted(first.partitions_for_topic(options.topic) or ())
        if not numbers:
            raise _no_topic(options.topic)
        consumers = [first]
        while len(consumers) < min(options.streams, len(numbers)):
            consumers.append(stack.enter_context(KafkaConsumer(config=settings)))
        for place, consumer in enumerate(consumers):
            mine = [
                TopicPartition(options.topic, number) for number in numbers[place :: len(consumers)]
            ]
            consumer.assign(mine)
            seek = consumer.seek_to_end if options.from_latest else consumer.seek_to_beginning
            seek(*mine)
        yield _Polled(consumers, options)


class _Polled(PerfSource):
    def __init__(self, consumers: Sequence[KafkaConsumer], options: PerfOptions) -> None:
        self._consumers = consumers
        self._options = options
        self._clock = SystemClock()
        self.streams = [self._lists(consumer) for consumer in consumers]

    def stop(self) -> None:
        for consumer in self._consumers:
            consumer.wakeup()

    def whole(self) -> int | None:
        if self._options.from_latest:
            return None
        count = 0
        for consumer in self._consumers:
            partitions = sorted(consumer.assignment())
            ends, starts = consumer.end_offsets(partitions), consumer.beginning_offsets(partitions)
            count += sum(ends[tp] - starts[tp] for tp in partitions)
        return count

    def check(self) -> None:
        for consumer in self._consumers:
            with suppress(Woken):  # by a wakeup after the stream ended
                consumer.poll(0)
            consumer.end_offsets(sorted(consumer.assignment()))

    def _lists(self, consumer: KafkaConsumer) -> Lists:
        quiet_since_ms = self._clock.now_ms()
        while self._clock.now_ms() - quiet_since_ms < self._options.timeout_ms:
            try:
                found = consumer.poll(timeout_ms=_TURN_MS)
            except Woken:
                return
            for records in found.values():
                if self._options.one_by_one:
                    for record in records:
                        yield (record,)
                else:
                    yield records
            if found:
                quiet_since_ms = self._clock.now_ms()


def _no_topic(topic: str) -> ConfigError:
    return ConfigError(f"there is no topic {topic}: see zkconsumer topics list")


def _delete_nodes(config: ConsumerConfig) -> None:
    with open_store(config) as store:
        GroupRemoval(store, config.group_id).everything_unless_live()
