"""Implements ``zkconsumer consume --bootstrap-server``, in a coordinator's group.

Source: Kafka's ``ConsoleConsumer`` with the new consumer. Unlike there, a record is not committed
    before it was written.
"""

import logging
import sys
import uuid
from collections.abc import Collection

from zkconsumer.cli.consume.copying import Copier, CurrentMessage
from zkconsumer.cli.consume.settings import ConsoleSettings
from zkconsumer.cli.output import Output
from zkconsumer.cli.signals import StopSignals
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.errors import ConfigError, Woken
from zkconsumer.metrics.consumer import ConsumerMetrics
from zkconsumer.model import TopicPartition

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
    # The consumer waits for brokers without a time limit; a signal ends that. Reading a misspelt
    # topic must not create it.
    settings: dict[str, object] = {"bootstrap.timeout.ms": 0, "allow.auto.create.topics": False}
    settings |= console.settings
    if not console.group_id:
        # A group with a generated name must not leave offsets behind.
        group_id = f"console-consumer-{uuid.uuid4().hex[:8]}"
        settings |= {"group.id": group_id, "enable.auto.commit": False}
    copier = Copier(console.formatter, output.write)
    stop.pending = copier.pending
    with KafkaConsumer(config=settings) as us:
        metrics.add(us)
        if console.from_beginning:
            _refuse_offsets(us, console)
        # A signal must not interrupt the consumer's calls: it wakes the consumer instead.
        stop.wake = us.wakeup
        if console.topic is not None:
            us.subscribe([console.topic])
        else:
            us.subscribe(pattern=console.topic_filter)
        try:
            copier.copy(us, console.max_messages)
        except Woken:
            log.debug("stopped by a signal")
        finally:
            stop.leave()
            _take_back(us, copier)
            us.close()
            print(f"Consumed {copier.count} messages", file=sys.stderr)


def _take_back(us: KafkaConsumer, copier: Copier) -> None:
    """Return to a record that was handed out but not wholly written, so that it is not committed.

    All records before it count as consumed, since this one was requested after they were written.
    """
    record = copier.message
    if copier.cursor is CurrentMessage.HOLDING and record is not None:
        us.seek(TopicPartition(record.topic, record.partition), record.offset)


def _refuse_offsets(us: KafkaConsumer, console: ConsoleSettings) -> None:
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
                    f"group {us.config.group_id} has offsets already, so --from-beginning would "
                    "have no effect: use another group, or reset this one with "
                    "kafka-consumer-groups --reset-offsets --to-earliest"
                )
