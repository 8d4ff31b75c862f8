"""Starts, monitors and ends the parallel streams of a mirror."""

import logging
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import NamedTuple

from zkconsumer.assignment.filters import INTERNAL_TOPICS
from zkconsumer.clock import Clock, SystemClock
from zkconsumer.consumer.kafka_consumer import KafkaConsumer
from zkconsumer.consumer.slice_polls import SliceConsumer
from zkconsumer.errors import MirrorError, without_frames
from zkconsumer.mirror.cycles import refuse_cycles
from zkconsumer.mirror.ends import Ends
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.mirror.offsets_file import OffsetsFile
from zkconsumer.mirror.partition_totals import PartitionAccount, summed
from zkconsumer.mirror.settings import MirrorSettings
from zkconsumer.mirror.stream import MirrorStream, open_consumer
from zkconsumer.model import TopicPartition
from zkconsumer.records.codecs import Codec
from zkconsumer.scope import Mailbox, ThreadScope

log = logging.getLogger(__name__)

_GRACE_MS = 5_000
_JOIN_MS = 60_000
_TICK_MS = 500


@dataclass(frozen=True, slots=True)
class MirrorProgress:
    """The progress of a mirror.

    Attributes:
        running_ms: the time since its start.
        sources: the counts of each partition, by source cluster; see ``source_name``.
    """

    running_ms: int
    sources: Mapping[str, Mapping[TopicPartition, PartitionAccount]]

    @property
    def total(self) -> PartitionAccount:
        """The sum of all counts."""
        return summed(
            account for of_source in self.sources.values() for account in of_source.values()
        )


class _Ended(NamedTuple):
    """Reports that a stream has ended: by an error, or on request."""

    error: BaseException | None


class Mirror:
    """Copies topics until it is stopped, or its limit is reached.

    Args:
        grace_ms: how long the target may take to accept pending messages at the end.
        on_consumer: called with each consumer when it is created, on its thread; for metrics.
    """

    def __init__(
        self,
        settings: MirrorSettings,
        *,
        clock: Clock | None = None,
        grace_ms: int = _GRACE_MS,
        on_consumer: Callable[[KafkaConsumer], None] = lambda _consumer: None,
    ) -> None:
        self._settings = settings
        self._on_consumer = on_consumer
        self._grace_ms = grace_ms
        self._clock = clock or SystemClock()
        self._mailbox: Mailbox[_Ended | None] = Mailbox()
        self._stopping = False
        self._copying = False
        self._left = 0
        self._error: BaseException | None = None
        self._started_ms = self._clock.now_ms()
        self._ledger: dict[str, OffsetLedger] = {}

    def stop(self) -> None:
        """Request an orderly end. Thread: any, and signal handlers."""
        self._stopping = True
        self._wake()

    @property
    def is_copying(self) -> bool:
        """Whether streams were started; until then nothing is pending.

        Thread: any, and signal handlers.
        """
        return self._copying

    def _wake(self) -> None:
        self._mailbox.put(None)

    def progress(self) -> MirrorProgress:
        """Return the progress. Thread: any."""
        ledger = dict(self._ledger)
        totals = {name: of_source.totals() for name, of_source in ledger.items()}
        return MirrorProgress(self._clock.now_ms() - self._started_ms, totals)

    def run(
        self,
        on_progress: Callable[[MirrorProgress], None] | None = None,
        *,
        every_ms: int = 1_000,
    ) -> MirrorProgress:
        """Run the mirror until it ends.

        Args:
            on_progress: called with the progress, on the caller's thread; None: not called.
            every_ms: the minimum time between two of these calls.

        Returns:
            The final progress.

        Raises:
            ConfigError: the mirror would read its own output.
            MirrorError: the target refuses a message, a thread does not end, or the offsets file
                can't be written. Acknowledged offsets are committed.
            ZkConsumerError: another failure.
        """
        settings = self._settings
        refuse_cycles(settings)
        with ExitStack() as stack:
            file: OffsetsFile | None = None
            if settings.offsets_file is not None:
                file = OffsetsFile(settings.offsets_file)
                stack.callback(file.close)
            self._ledger = {
                source_name(consumer): OffsetLedger(
                    offsets_file=file,
                    ends=_ends(settings, consumer) if settings.stop_at_end else None,
                    max_messages=settings.max_messages,
                )
                for consumer in settings.consumers
            }
            streams = [
                MirrorStream(
                    settings,
                    consumer,
                    ledger=self._ledger[source_name(consumer)],
                    on_complete=self._wake,
                    clock=self._clock,
                    consume=self._consume,
                )
                for consumer in settings.consumers
                for _ in range(settings.streams)
            ]
            self._supervise(streams, on_progress or (lambda _progress: None), every_ms)
        return self.progress()

    def _consume(self, settings: Mapping[str, object]) -> SliceConsumer:
        # Without their headers, batches can't be written unchanged, so their bytes are not kept.
        ours = self._settings
        consumer = open_consumer(
            settings, ours.target.batches.codec if ours.with_headers else Codec.NONE
        )
        self._on_consumer(consumer)
        return consumer

    def _supervise(
        self,
        streams: list[MirrorStream],
        on_progress: Callable[[MirrorProgress], None],
        every_ms: int,
    ) -> None:
        scope = ThreadScope("mirror", clock=self._clock)
        self._copying = True
        for number, stream in enumerate(streams):
            scope.spawn(f"stream-{number}", self._body(stream), stop=stream.stop)
        self._await(len(streams))
        reported_ms = self._clock.now_ms()
        try:
            while self._left and self._error is None and not self._is_over():
                self._take(self._mailbox.get(min(_TICK_MS, every_ms)))
                now_ms = self._clock.now_ms()
                if now_ms - reported_ms >= every_ms:
                    reported_ms = now_ms
                    on_progress(self.progress())
        finally:
            late = self._end(scope, streams)
        if self._error is not None:
            raise self._error
        if late:
            raise MirrorError(f"still running after {_JOIN_MS} ms: {', '.join(late)}")

    def _is_over(self) -> bool:
        return self._stopping or all(ledger.is_complete for ledger in self._ledger.values())

    def _await(self, streams: int) -> None:
        """Begin to wait for this many streams."""
        self._left, self._error = streams, None

    def _take(self, item: _Ended | None) -> None:
        """Record that a stream has ended, with its error; None: nothing has."""
        if item is not None:
            self._left -= 1
            self._error = self._error or item.error

    def _end(self, scope: ThreadScope, streams: list[MirrorStream]) -> list[str]:
        """Stop the streams; abort their writes after the grace period. Return late threads."""
        for stream in streams:
            stream.stop()
        deadline_ms = self._clock.now_ms() + self._grace_ms
        while self._left and (wait_ms := deadline_ms - self._clock.now_ms()) > 0:
            self._take(self._mailbox.get(wait_ms))
        for stream in streams:
            stream.break_off()
        late = scope.close(_JOIN_MS)
        for item in self._mailbox.drain():
            self._take(item)
        return late

    def _body(self, stream: MirrorStream) -> Callable[[], None]:
        def run() -> None:
            ended = _Ended(None)
            try:
                stream.run()
            except BaseException as error:  # the thread's top: reported to its owner
                log.debug("a stream ended", exc_info=error)
                ended = _Ended(without_frames(error))
            self._mailbox.put(ended)

        return run


def source_name(consumer: Mapping[str, object]) -> str:
    """Return the identity of a source cluster: its addresses."""
    return str(consumer.get("zookeeper.connect", consumer.get("bootstrap.servers")))


def _ends(settings: MirrorSettings, consumer_settings: Mapping[str, object]) -> Ends:
    """Return the current log starts and ends of the topics to mirror.

    Raises:
        ZkConsumerError: the source does not respond.
    """
    with KafkaConsumer(config=consumer_settings) as consumer:
        excluded = INTERNAL_TOPICS if consumer.config.exclude_internal_topics else frozenset()
        partitions = [
            TopicPartition(topic, number)
            for topic in consumer.topics() - excluded
            if settings.topics.allows(topic, exclude_internal=False)
            for number in consumer.partitions_for_topic(topic)
        ]
        starts = consumer.beginning_offsets(partitions)
        return Ends(consumer.end_offsets(partitions), starts)
