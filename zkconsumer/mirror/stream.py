"""Runs one stream of a mirror: a group member that polls and commits, and a thread that writes.

Polled messages are written by a separate thread (``WritePipeline``) while the next ones are read.
In a rebalance the poll waits until all messages handed out are acknowledged, or the stream ends, so
that the positions of revoked partitions can be committed before their release (flush and commit).
Other members wait for it as for any poll; a stream that takes too long loses the partitions and can
no longer commit them, so others mirror the same messages again.

Source: Kafka 0.9 ``MirrorMaker`` (a connector for each stream, flush and commit in the rebalance
    listener); KAFKA-4521 for the losses without it.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress

from zkconsumer.clock import Clock
from zkconsumer.consumer.listener import ConsumerRebalanceListener
from zkconsumer.consumer.slice_polls import SliceConsumer
from zkconsumer.errors import BrokerError, TransportError, Woken, ZkConsumerError
from zkconsumer.mirror.batch import MirrorBatch
from zkconsumer.mirror.landed import Run, runs_of
from zkconsumer.mirror.offset_ledger import OffsetLedger
from zkconsumer.mirror.pipeline import WritePipeline
from zkconsumer.mirror.routing import Router
from zkconsumer.mirror.settings import MirrorSettings
from zkconsumer.mirror.target import Target
from zkconsumer.mirror.writer import Writer
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.produce.exchange import is_retriable
from zkconsumer.records.codecs import Codec
from zkconsumer.records.consumer_record import RecordOrigin
from zkconsumer.records.slices import RecordSlice
from zkconsumer.repeats import Repeats

log = logging.getLogger(__name__)

_WAIT_MS = 500
_COMMIT_TIMEOUT_MS = 5_000
_LAST_COMMIT_MS = 3_000
_CLOSE_TIMEOUT_MS = 6_000
_ENDS_INTERVAL_MS = 1_000
_QUOTA_PAUSE_S = 0.05

Found = Mapping[TopicPartition, RecordSlice]


def open_consumer(settings: Mapping[str, object], codec: Codec = Codec.NONE) -> SliceConsumer:
    """Open a consumer; wait for its brokers without a limit.

    Batches in ``codec``, the target's, can be written unchanged.
    """
    return SliceConsumer({"bootstrap.timeout.ms": 0, **settings}, kept_codec=codec)


class MirrorStream(ConsumerRebalanceListener):
    """Runs one stream of a mirror; see the module.

    Args:
        on_complete: called when the ledger is complete, on any thread.

    Thread: its own, except ``stop`` and ``break_off``; the writer's thread calls only ``_written``
    and ``_pause``.
    """

    def __init__(  # noqa: PLR0913 - one part a line, all by name
        self,
        settings: MirrorSettings,
        consumer: Mapping[str, object],
        *,
        ledger: OffsetLedger,
        on_complete: Callable[[], None],
        clock: Clock,
        consume: Callable[[Mapping[str, object]], SliceConsumer] = open_consumer,
        aim: Callable[[MirrorSettings, Callable[[int], object]], Target] = Target,
    ) -> None:
        self._settings = settings
        self._consumer_settings = consumer
        self._ledger = ledger
        self._on_complete = on_complete
        self._clock = clock
        self._repeats = Repeats(log, clock)
        self._consume = consume
        self._aim = aim
        self._stopping = threading.Event()
        self._giving_up = threading.Event()
        self._router = Router(settings.partitioning, settings.topic_prefix)
        self._target: Target | None = None
        self._consumer: SliceConsumer | None = None
        self._source_counts: dict[str, int] = {}
        self._starts: dict[TopicPartition, int] = {}
        self._due: dict[TopicPartition, int] = {}
        self._lock = threading.Lock()
        self._pipeline: WritePipeline | None = None
        self._last_read_ms = 0

    def stop(self) -> None:
        """Write pending messages, commit, and end. Thread: any, also a signal handler."""
        self._stopping.set()
        consumer = self._consumer
        if consumer is not None:
            consumer.wakeup()

    def break_off(self) -> None:
        """Abort a write that takes too long; acknowledged messages are committed. Thread: any."""
        self._giving_up.set()
        target = self._target
        if target is not None:
            target.stop()

    def run(self) -> None:
        """Mirror until ``stop``, or until the limit is reached.

        Raises:
            MirrorError: the target refuses a message, or the offsets file can't be written.
            ZkConsumerError: something else failed.
        """
        with (
            closing(self._aim(self._settings, self._pause)) as target,
            self._opened() as consumer,
        ):
            self._target, self._consumer = target, consumer
            pipeline = self._pipeline = self._pipeline_to(target)
            with pipeline.running():
                self._run(consumer, target, pipeline)

    def _run(self, consumer: SliceConsumer, target: Target, pipeline: WritePipeline) -> None:
        """Mirror; at the end pending messages are written, unless their retries take too long."""
        try:
            consumer.subscribe(pattern=self._settings.topics, listener=self)
            self._loop(consumer, target, pipeline)
        except Woken:
            pass  # A stop may interrupt any call; messages that were not put are not committed.
        except BaseException:
            self._giving_up.set()
            target.producer.end_tries()  # otherwise it would retry for as long as an outage lasts
            raise

    def _pipeline_to(self, target: Target) -> WritePipeline:
        settings = self._settings
        writer = Writer(
            target.producer.write,
            self._ledger,
            is_stopping=self._giving_up.is_set,
            pause=lambda: self._pause(settings.target.batches.backoff_ms),
            retries=settings.target.retries,
            drops=not settings.abort_on_send_failure,
        )
        return WritePipeline(writer.write, self._written, most=settings.batch_records)

    @contextmanager
    def _opened(self) -> Iterator[SliceConsumer]:
        """Open the consumer; closing it commits due offsets, see ``on_partitions_revoked``."""
        consumer = self._consume(self._consumer_settings)
        try:
            yield consumer
        finally:
            consumer.close(autocommit=False, timeout_ms=_CLOSE_TIMEOUT_MS)

    def _loop(self, consumer: SliceConsumer, target: Target, pipeline: WritePipeline) -> None:
        committed_ms = self._clock.now_ms()
        while not self._stopping.is_set():
            pipeline.check()
            if pipeline.wait_for_capacity(self._limit_ms):
                self._turn(consumer, target, pipeline)
            now_ms = self._clock.now_ms()
            if now_ms - committed_ms >= self._settings.commit_interval_ms:
                committed_ms = now_ms
                self._commit(self._all_due())
            if self._ledger.missing():
                self._record_ends_reached(consumer, pipeline, now_ms)
            if self._ledger.is_complete:
                self._on_complete()

    def _turn(self, consumer: SliceConsumer, target: Target, pipeline: WritePipeline) -> None:
        """Poll once, and put the messages into the pipeline."""
        reserved = self._ledger.reserve(pipeline.free_count)
        used = 0
        try:
            if reserved:
                batch = self._batch(consumer, target, self._poll(consumer, reserved))
                used = batch.count
                if used:
                    pipeline.put(batch)
            else:
                self._stopping.wait(_QUOTA_PAUSE_S)
        finally:
            # The rest is settled when the messages are written.
            self._ledger.settle(reserved - used, 0)
        if reserved and not used and self._ledger.is_limited:
            # Another stream may wait for a share of the limit: it can reserve one now.
            self._stopping.wait(2 * _QUOTA_PAUSE_S)

    @property
    def _limit_ms(self) -> int:
        return min(_WAIT_MS, self._settings.commit_interval_ms)

    def _poll(self, consumer: SliceConsumer, most: int) -> Found:
        try:
            return consumer.poll_slices(timeout_ms=self._limit_ms, max_records=most)
        except Woken:
            return {}

    def _batch(self, consumer: SliceConsumer, target: Target, found: Found) -> MirrorBatch:
        """Return the polled messages as a batch for the target."""
        batch = MirrorBatch()
        for source, piece in found.items():
            topic = self._router.topic(source.topic)
            count = self._source_count(consumer, source)
            partitions = self._partitions(target, topic, count)
            runs = self._add(batch, source, piece, partitions, consumer.position(source))
            self._ledger.on_read(source, runs, self._starts.pop(source, None))
        return batch

    def _add(
        self,
        batch: MirrorBatch,
        source: TopicPartition,
        piece: RecordSlice,
        partitions: Sequence[int],
        next_offset: int,
    ) -> Sequence[Run]:
        """Add a partition's polled messages; return their offsets."""
        with_headers = self._settings.with_headers
        location = self._router.location(source, partitions)
        if location is not None:
            return batch.add_slice(
                source, piece, location, next_offset=next_offset, with_headers=with_headers
            )
        records = piece.records(RecordOrigin(source))
        locations = self._router.locations(source, [record.key for record in records], partitions)
        batch.add(source, records, locations, next_offset=next_offset, with_headers=with_headers)
        return runs_of([record.offset for record in records])

    def _written(self, batch: MirrorBatch) -> None:
        """Record a batch that was written, perhaps in part. Thread: the writer's."""
        for source, position in batch.positions().items():
            with self._lock:
                self._due[source] = position
            self._ledger.on_reached(source, position)
        self._ledger.settle(batch.count, batch.count)
        if self._ledger.is_complete:
            self._on_complete()

    def _partitions(self, target: Target, topic: str, wanted: int) -> Sequence[int]:
        """Return the partitions of the target's topic; retry as often as writes are retried.

        Raises:
            Woken: the stream is ending.
            ZkConsumerError: see ``Target``.
        """
        tries, most = 0, self._settings.target.retries
        while True:
            try:
                count = target.partitions(topic, wanted)
            except (TransportError, BrokerError) as error:
                if self._stopping.is_set():
                    raise Woken("the target did not respond in time") from error
                if not is_retriable(error) or (most is not None and tries >= most):
                    raise
                text = f"topic {topic} of the target can't be read, retrying: {error}"
                self._repeats.happened(f"topic {topic} of the target", text)
            else:
                self._repeats.works(f"topic {topic} of the target")
                return count
            tries += 1
            self._wait(self._settings.target.batches.backoff_ms)

    def _source_count(self, consumer: SliceConsumer, source: TopicPartition) -> int:
        known = self._source_counts.get(source.topic, 0)
        if source.partition >= known:
            known = max(consumer.partitions_for_topic(source.topic), default=-1) + 1
            known = max(known, source.partition + 1)
            self._source_counts[source.topic] = known
        return known

    def _record_ends_reached(
        self, consumer: SliceConsumer, pipeline: WritePipeline, now_ms: int
    ) -> None:
        """Record ends that we reached without a further message, or that others reached."""
        if now_ms - self._last_read_ms < _ENDS_INTERVAL_MS:
            return
        self._last_read_ms = now_ms
        is_idle = pipeline.is_idle
        ours = consumer.assignment()
        done: dict[TopicPartition, int] = {}
        for tp in self._ledger.missing():
            try:
                if tp not in ours:
                    done[tp] = consumer.committed(tp, timeout_ms=_COMMIT_TIMEOUT_MS) or 0
                elif is_idle:
                    # All messages handed out are written: everything before the position is done.
                    at = consumer.position(tp, timeout_ms=_WAIT_MS)
                    done[tp] = -1 if at is None else at
            except ZkConsumerError as error:
                log.info("%s: %s", f"{tp}", error)
        with suppress(ZkConsumerError):
            self._ledger.forget(consumer.topics())
        with suppress(ZkConsumerError):
            # A log that was truncated, or whose topic was recreated, may never reach its old end.
            ends = consumer.known_end_offsets(self._ledger.missing(), _COMMIT_TIMEOUT_MS)
            self._ledger.on_ends(ends)
            for tp, end in ends.items():
                position = done.get(tp, -1)
                if tp not in ours and position >= 0:
                    self._ledger.on_reached_by_others(tp, position, end)
                # An offset after the end belongs to a truncated log: reading steps back from it.
                elif 0 <= position <= end:
                    self._ledger.on_reached(tp, position)

    def _all_due(self) -> Collection[TopicPartition]:
        with self._lock:
            return list(self._due)

    def _commit(self, partitions: Collection[TopicPartition]) -> None:
        with self._lock:
            due = {tp: self._due[tp] for tp in partitions if tp in self._due}
        if not due or self._consumer is None:
            return
        self._ledger.sync(due)
        try:
            self._consumer.commit(
                {tp: OffsetAndMetadata(offset) for tp, offset in due.items()},
                timeout_ms=_LAST_COMMIT_MS if self._stopping.is_set() else _COMMIT_TIMEOUT_MS,
            )
        except ZkConsumerError as error:
            text = f"not committed, so it may be mirrored again: {error}"
            self._repeats.happened("committing", text)
            return
        self._repeats.works("committing")
        self._ledger.on_committed(due)
        with self._lock:
            for tp, offset in due.items():
                if self._due.get(tp) == offset:
                    del self._due[tp]

    def _wait(self, duration_ms: int) -> None:
        self._stopping.wait(duration_ms / 1000)

    def _pause(self, duration_ms: int) -> None:
        """Wait before the next try to write. Thread: the writer's."""
        self._giving_up.wait(duration_ms / 1000)

    # --- as a rebalance listener ------------------------------------------------------------

    def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Record where assigned partitions begin: at the former owner's committed position."""
        consumer = self._consumer
        for tp in assigned:
            committed = None if consumer is None else _committed(consumer, tp)
            if committed is not None:
                self._starts[tp] = committed

    def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Flush and commit the revoked partitions, so that others continue there."""
        self._flush()
        try:
            self._commit(revoked)
        finally:
            self._forget(revoked)

    def on_partitions_lost(self, lost: Collection[TopicPartition]) -> None:
        """Abandon the lost partitions: others read uncommitted messages again."""
        # Pending messages belong to the old assignment: they must not count if it is restored.
        self._flush()
        self._forget(lost)

    def _flush(self) -> None:
        if self._pipeline is not None:
            self._pipeline.flush()

    def _forget(self, partitions: Collection[TopicPartition]) -> None:
        for tp in partitions:
            with self._lock:
                self._due.pop(tp, None)
            self._starts.pop(tp, None)


def _committed(consumer: SliceConsumer, tp: TopicPartition) -> int | None:
    try:
        return consumer.committed(tp, timeout_ms=_COMMIT_TIMEOUT_MS)
    except ZkConsumerError as error:
        log.info("%s: its committed offset can't be read: %s", f"{tp}", error)
        return None
