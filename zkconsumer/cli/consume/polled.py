"""Implements ``zkconsumer consume --bootstrap-server``, in a coordinator's group.

Source: Kafka's ``ConsoleConsumer`` with the new consumer. Unlike there, exactly the written records
    are committed.
"""

import logging
import sys
import uuid
from collections.abc import Collection, Iterator

from zkconsumer.cli.consume.copying import Copier, CurrentMessage
from zkconsumer.cli.consume.settings import ConsoleSettings
from zkconsumer.cli.output import Output
from zkconsumer.cli.signals import StopSignals
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.consumer.listener import ConsumerRebalanceListener
from zkconsumer.errors import CommitFailed, ConfigError, OffsetCommitFailed, Woken
from zkconsumer.metrics.consumer import ConsumerMetrics
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.records.consumer_record import ConsumerRecord

log = logging.getLogger(__name__)


def consume_polled(
    console: ConsoleSettings, output: Output, stop: StopSignals, metrics: ConsumerMetrics
) -> None:
    """Join the group and print until the end.

    Raises:
        StopRequested: a signal came before the consumer was ready, or while the reader blocked a
            line.
        OutputClosed: the reader of the output has gone.
        ZkConsumerError: consuming failed.
    """
    if console.delete_offsets:
        raise ConfigError(
            "--delete-consumer-offsets is for groups in ZooKeeper: delete a coordinator's group "
            "with 'zkconsumer groups delete --group NAME', or with Kafka's own "
            "'kafka-consumer-groups --delete --group NAME'"
        )
    # Reading a misspelt topic must not create it.
    settings: dict[str, object] = {"allow.auto.create.topics": False, **console.settings}
    made_up = {"group.id": f"console-consumer-{uuid.uuid4().hex[:8]}"}
    config = PollConfig(settings | ({} if console.group_id else made_up))
    settings |= {"group.id": config.group_id, "enable.auto.commit": False}
    # A group with a generated name must not leave offsets behind.
    commits = config.enable_auto_commit and console.group_id is not None
    copier = Copier(console.formatter, output.write)
    stop.pending = copier.pending
    # The consumer waits for brokers without a time limit; a signal ends that.
    with KafkaConsumer(config={"bootstrap.timeout.ms": 0, **settings}) as us:
        metrics.add(us)
        if console.from_beginning:
            _refuse_offsets(us, console, config.group_id or "")
        written = WrittenRecords(
            us, interval_ms=config.auto_commit_interval_ms if commits else None
        )
        # A signal must not interrupt the consumer's calls: it wakes the consumer instead.
        stop.wake = written.stop
        _subscribe(us, console, written)
        try:
            copier.copy(written.records(config.consumer_timeout_ms), console.max_messages)
        finally:
            stop.leave()
            written.finish(last_too=copier.cursor is CurrentMessage.WRITTEN)
            print(f"Consumed {copier.count} messages", file=sys.stderr)


def _subscribe(us: KafkaConsumer, console: ConsoleSettings, written: "WrittenRecords") -> None:
    if console.topic is not None:
        us.subscribe([console.topic], listener=written)
    else:
        us.subscribe(pattern=console.topic_filter, listener=written)


def _refuse_offsets(us: KafkaConsumer, console: ConsoleSettings, group_id: str) -> None:
    """Raise if the group has offsets, since it would not start at the beginning."""
    if console.topic is not None:
        topics: Collection[str] = [console.topic]
    else:
        allows = console.topic_filter.allows
        topics = [topic for topic in us.topics() if allows(topic, exclude_internal=False)]
    for topic in topics:
        for number in us.partitions_for_topic(topic) or ():
            if us.committed(TopicPartition(topic, number)) is not None:
                raise ConfigError(
                    f"group {group_id} has offsets already, so --from-beginning would have no "
                    "effect: use another group, or reset this one with kafka-consumer-groups "
                    "--reset-offsets --to-earliest"
                )


class WrittenRecords(ConsumerRebalanceListener):
    """Yields records one by one; when the next is requested, the last one was written.

    Args:
        consumer: the source of the records.
        interval_ms: the interval between commits of written records; None: no commits.
        clock: measures the interval.
    """

    def __init__(
        self, consumer: KafkaConsumer, *, interval_ms: int | None, clock: Clock | None = None
    ) -> None:
        self._consumer = consumer
        self._interval_ms = interval_ms
        self._clock = clock or SystemClock()
        self._committed_ms = self._clock.now_ms()
        self._stopping = False
        self._pending: ConsumerRecord | None = None
        self._written: dict[TopicPartition, OffsetAndMetadata] = {}

    def records(self, timeout_ms: int) -> Iterator[ConsumerRecord]:
        """Yield records until none comes for ``timeout_ms`` (-1: no limit), or until stopped."""
        quiet_since_ms = self._clock.now_ms()
        while True:
            try:
                found = self._consumer.poll(timeout_ms=self._limit_ms(timeout_ms))
            except Woken:
                return
            for records in found.values():
                for record in records:
                    self._pending = record
                    yield record
                    self._note()
                    if self._stopping:
                        return
            now_ms = self._clock.now_ms()
            if found:
                quiet_since_ms = now_ms
            elif 0 <= timeout_ms <= now_ms - quiet_since_ms:
                log.debug("no message came for %d ms", timeout_ms)
                return
            self._commit_if_due(now_ms)

    def stop(self) -> None:
        """End the iteration. A signal handler may call it."""
        self._stopping = True
        self._consumer.wakeup()

    def _limit_ms(self, timeout_ms: int) -> int:
        waits = [m for m in (timeout_ms, self._interval_ms) if m is not None and m >= 0]
        return min(waits, default=60_000)

    def _note(self) -> None:
        record, self._pending = self._pending, None
        if record is not None:
            self._written[record.topic_partition] = OffsetAndMetadata(record.offset + 1)

    def _commit_if_due(self, now_ms: int) -> None:
        if self._interval_ms is not None and now_ms - self._committed_ms >= self._interval_ms:
            self._committed_ms = now_ms
            self._commit(list(self._written))

    def _commit(self, partitions: Collection[TopicPartition]) -> None:
        mine = {place: self._written[place] for place in partitions if place in self._written}
        if not mine or self._interval_ms is None:
            return
        try:
            self._consumer.commit(mine)
        except (CommitFailed, OffsetCommitFailed) as error:
            log.warning("not committed, so it may be delivered again: %s", error)
            return
        for place in mine:
            del self._written[place]

    def finish(self, *, last_too: bool) -> None:
        """Commit all written records; with ``last_too``, the pending one as well."""
        if last_too:
            self._note()
        self._commit(list(self._written))

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Commit the revoked partitions, so that others continue after the last written record."""
        self._commit(revoked)
        self.on_partitions_lost(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Forget the lost partitions: others own them already."""
        for place in lost:
            self._written.pop(place, None)

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Do nothing: the consumer reads assigned partitions from their committed offsets."""
