"""The sources of ``perf``: a group in ZooKeeper, or all partitions without a group."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from zkconsumer.cli.cluster_access import open_store, require_brokers, require_zookeeper
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
from zkconsumer.status.reading.broker_cluster import client_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfSource:
    """The streams to read, each in a thread of its own.

    Attributes:
        streams: the messages of each stream.
        stop: makes all streams end. Thread: any.
        whole: returns the number of messages in the logs now; None if unknown, or if new ones are
            read. Compacted and transactional logs have fewer: then the streams end by their
            time-out. Raises as ``check``.
        check: raises the reason why no message came, if there is one: ``ConfigError`` if there is
            no such topic, ``ZkConsumerError`` if no broker responds, or partitions have no leader.
    """

    streams: Sequence[Lists]
    stop: Callable[[], None]
    whole: Callable[[], int | None]
    check: Callable[[], None]


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
        yield PerfSource(
            streams=[_lists_of(stream, one_by_one=options.one_by_one) for stream in streams],
            stop=connector.shutdown,
            whole=lambda: None if options.from_latest else _whole(config, options.topic),
            check=lambda: _check(config, options.topic),
        )


@contextmanager
def _client(config: ConsumerConfig) -> Iterator[ClusterClient]:
    with ExitStack() as stack:
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


def _whole(config: ConsumerConfig, topic: str) -> int | None:
    with _client(config) as client:
        numbers = client.view([topic], timeout_ms=_CHECK_MS).partitions.get(topic, ())
        tps = [TopicPartition(topic, number) for number in numbers]
        logs = log_ranges(client, tps, timeout_ms=_CHECK_MS)
    if not tps or len(logs) < len(tps):
        return None  # the number is unknown: read the readable partitions until the time-out
    return sum(log.end - log.start for log in logs.values())


def _check(config: ConsumerConfig, topic: str) -> None:
    with _client(config) as client:
        view = client.view([topic], timeout_ms=_CHECK_MS)
        if topic not in view.partitions:
            raise _no_topic(topic)
        headless = [f"{tp}" for tp in sorted(view.leaderless) if tp.topic == topic]
        if headless:
            raise ConnectFailed(f"no leader for {', '.join(headless)}")
        led = dict.fromkeys(view.leaders, LATEST)
        ends = client.list_offsets(led, timeout_ms=_CHECK_MS)
    dumb = [f"{tp}" for tp, end in sorted(ends.items()) if isinstance(end, int)]
    if dumb:
        raise ConnectFailed(f"no response from the leader of {', '.join(dumb)}")


def _lists_of(stream: KafkaStream[bytes, bytes], *, one_by_one: bool) -> Lists:
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

        def stop() -> None:
            for consumer in consumers:
                consumer.wakeup()

        yield PerfSource(
            streams=[_lists_polled(consumer, options) for consumer in consumers],
            stop=stop,
            whole=lambda: None if options.from_latest else sum(map(_size_of, consumers)),
            check=lambda: _check_polled(consumers),
        )


def _size_of(consumer: KafkaConsumer) -> int:
    """Return the number of messages in the logs of a consumer's partitions."""
    partitions = sorted(consumer.assignment())
    ends, starts = consumer.end_offsets(partitions), consumer.beginning_offsets(partitions)
    return sum(ends[tp] - starts[tp] for tp in partitions)


def _check_polled(consumers: Sequence[KafkaConsumer]) -> None:
    for consumer in consumers:
        with suppress(Woken):  # by a wakeup after the stream ended
            consumer.poll(0)
        consumer.end_offsets(sorted(consumer.assignment()))


def _lists_polled(consumer: KafkaConsumer, options: PerfOptions) -> Lists:
    clock = SystemClock()
    quiet_since_ms = clock.now_ms()
    while clock.now_ms() - quiet_since_ms < options.timeout_ms:
        try:
            found = consumer.poll(timeout_ms=_TURN_MS)
        except Woken:
            return
        for records in found.values():
            if options.one_by_one:
                for record in records:
                    yield (record,)
            else:
                yield records
        if found:
            quiet_since_ms = clock.now_ms()


def _no_topic(topic: str) -> ConfigError:
    return ConfigError(f"there is no topic {topic}: see zkconsumer topics list")


def _delete_nodes(config: ConsumerConfig) -> None:
    with open_store(config) as store:
        GroupRemoval(store, config.group_id).everything_unless_live()
