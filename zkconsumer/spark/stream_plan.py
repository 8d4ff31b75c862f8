"""Plans the batches of a streaming query on the driver, and commits the group's offsets.

Spark calls the methods in its order, from one thread. ``latest`` is called with the end of the last
*complete* batch, even after the very last batch, and first after a restart; so it is the method
that commits the group's offsets. (Spark calls ``commit`` only when it builds a further
batch, which would leave the group one batch behind.)

Nothing is committed to a group with live members: they are looked up before each commit, and also
about once a second.

Source: Spark 4.2 ``KafkaMicroBatchStream``.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError, RegistryError, ZkConsumerError
from zkconsumer.model import TopicPartition
from zkconsumer.scope import wait_ms
from zkconsumer.spark.admission import BatchAdmission
from zkconsumer.spark.cluster_reader import ClusterReader
from zkconsumer.spark.creations import Creations, created_again
from zkconsumer.spark.data_loss import LogBounds
from zkconsumer.spark.group_progress import GroupProgress, progress_of
from zkconsumer.spark.input_partition import ZkInputPartition
from zkconsumer.spark.offset_limits import Exact
from zkconsumer.spark.options import SourceOptions
from zkconsumer.spark.planning import (
    CachedLogEnds,
    input_partitions,
    ranges_to_read,
    starting_offsets,
)
from zkconsumer.spark.stream_offsets import StreamOffsets

log = logging.getLogger(__name__)

REFRESH_INTERVAL_MS: Final = 1_000
"""Interval at which partitions and members are looked up while Spark polls for offsets."""

IDLE_PAUSE_MS: Final = 100
"""Pause after a poll without new messages; Spark would poll a hundred times a second."""

Offsets = Mapping[TopicPartition, int]


class StreamPlan:
    """Plans the batches of one query, from its start to its end on this driver.

    Args:
        options: the options of a streaming query.
        cluster: reads partitions and offsets.
        progress: the group's offsets; None if they are neither read nor committed.
        clock: measures delays; None: the system's clock.
        wait: waits for a number of milliseconds.

    Attributes:
        ends: the last known log ends; None before the first read.
    """

    def __init__(
        self,
        options: SourceOptions,
        cluster: ClusterReader,
        progress: GroupProgress | None,
        *,
        clock: Clock | None = None,
        wait: Callable[[int], None] = wait_ms,
    ) -> None:
        self._options = options
        self._cluster = cluster
        self._clock = clock or SystemClock()
        self._wait = wait
        self._progress = progress
        self._target = progress if options.commit_offsets_to != "none" else None
        self._admission = BatchAdmission(
            max_offsets=options.max_offsets_per_trigger,
            min_offsets=options.min_offsets_per_trigger,
            max_delay_ms=options.max_trigger_delay_ms,
        )
        self._initial: StreamOffsets | None = None
        self._partitions: tuple[TopicPartition, ...] = ()
        self._partitions_ms: int | None = None
        self._creations: Creations = {}
        self._created_ms: int | None = None
        self._members_ms: int | None = None
        self._idle_ms: int | None = None
        self.ends: Offsets | None = None

    def begin(self) -> None:
        """Check that the query may run.

        Raises:
            ConfigError: the group has live members, or a topic or partition does not exist.
            ZkConsumerError: the cluster does not respond.
        """
        if self._target is not None and not self._target.sees_members:
            log.warning(
                "group %s: without zookeeper.connect nobody sees whether it has live members",
                self._target.group_id,
            )
        self._refuse_live()
        self._read_partitions()

    def prepare_available_now(self) -> None:
        """End the query at the current log ends."""
        self._admission.prepare_available_now()

    def initial(self) -> StreamOffsets:
        """Return the start of a new query; the same at each call.

        Raises:
            ConfigError: the options name something that the cluster does not have.
            ZkConsumerError: the cluster, or the group's offsets, can't be read.
        """
        if self._initial is None:
            partitions = self._read_partitions()
            committed = None if self._progress is None else self._progress.committed
            log_ends = CachedLogEnds(self._cluster, partitions)
            start = starting_offsets(self._options, partitions, log_ends, committed)
            self._initial = StreamOffsets(start, created=self._created(partitions))
        return self._initial

    def latest(self, start: StreamOffsets, *, unlimited: bool) -> StreamOffsets:
        """Return the next batch's end; ``start`` itself if no batch is due.

        Args:
            start: the end of the last batch, which is complete.
            unlimited: whether the trigger requests everything in one batch, regardless of the
                options.

        Raises:
            ConfigError: a member has joined the group that this query commits to.
            OffsetCommitFailed: the group's offsets could not be committed.
            ZkConsumerError: the cluster can't be read.
        """
        self._pause_while_idle()
        partitions = self._read_partitions()
        created = {**start.created, **self._created(partitions)}
        recreated = created_again(start.created, created)
        done = {tp: it for tp, it in start.offsets.items() if tp.topic not in recreated}
        ends = self._cluster.latest(partitions, known=done)
        self.ends = ends
        first = self._is_first(start)
        if not first:
            # The offset of a deleted partition is not committed: brokers may refuse it, and a
            # recreated topic would inherit it.
            self._commit({tp: done[tp] for tp in ends if tp in done}, ends)
        self._glance_at_members()
        earliest = self._earliest(done, ends)
        if unlimited:
            end: Mapping[TopicPartition, int] = ends
        else:
            now_ms = self._clock.now_ms()
            again = {
                tp: offset for tp, offset in earliest.items() if tp in start.offsets.keys() - done
            }
            end = self._admission.next_end({**done, **again}, ends, earliest, now_ms=now_ms)
        begun_at = start.offsets if first and not self._is_fixed_start() else None
        found = StreamOffsets(end, begun_at, created)
        # A query whose start could differ after a restart gets a first batch, even an empty one.
        if end == start.offsets and not recreated and (not first or found == start):
            self._idle_ms = self._clock.now_ms()
            return start
        return found

    def tasks(self, start: StreamOffsets, end: StreamOffsets) -> list[ZkInputPartition]:
        """Plan the batch between two offsets; the same ranges at each call.

        Raises:
            OffsetsLost: requested messages are gone, and ``failOnDataLoss`` is true.
            ZkConsumerError: the cluster can't be read.
        """
        begin = start.offsets if end.begun_at is None else end.begun_at
        known = set(self._read_partitions())
        # If a topic was recreated after the batch was planned, the planned messages are gone.
        gone = created_again(end.created, self._created(sorted(known)))
        requested = [tp for tp in end.offsets if tp in known and tp.topic not in gone]
        bounds = LogBounds(
            self._cluster.earliest(requested), self._cluster.latest(requested, known=end.offsets)
        )
        recreated = created_again(start.created, end.created)
        ranges = ranges_to_read(self._options, begin, end.offsets, bounds, recreated)
        return input_partitions(self._options, self._cluster, ranges)

    def close(self) -> None:
        """Close all connections."""
        self._cluster.close()
        if self._progress is not None:
            self._progress.close()

    def _read_partitions(self) -> Sequence[TopicPartition]:
        now_ms = self._clock.now_ms()
        if self._partitions_ms is None or now_ms - self._partitions_ms >= REFRESH_INTERVAL_MS:
            self._partitions = self._cluster.partitions(self._options.subscription)
            self._partitions_ms = now_ms
        return self._partitions

    def _created(self, partitions: Sequence[TopicPartition]) -> Creations:
        """Return the creation of each topic, the last known one if it can't be looked up now."""
        topics = {tp.topic for tp in partitions}
        if self._created_ms != self._partitions_ms or not topics <= self._creations.keys():
            self._creations = {**self._creations, **self._cluster.creations(topics)}
            self._created_ms = self._partitions_ms
        return {topic: it for topic, it in self._creations.items() if topic in topics}

    def _pause_while_idle(self) -> None:
        """Pause after a poll without new messages."""
        since_ms, self._idle_ms = self._idle_ms, None
        if since_ms is not None:
            self._wait(max(0, IDLE_PAUSE_MS - (self._clock.now_ms() - since_ms)))

    def _is_first(self, start: StreamOffsets) -> bool:
        """Return whether nothing was read before ``start``, where an empty first batch may end.

        A first batch that another driver planned may end where this driver's would begin.
        """
        if self._initial is None or start.offsets != self._initial.offsets:
            return False
        return start.begun_at is None or start.begun_at == start.offsets

    def _earliest(self, start: Offsets, ends: Offsets) -> Offsets:
        """Return log start offsets of new partitions; of others, too, to skip deleted records."""
        requested = [tp for tp in ends if tp not in start]
        if (
            self._options.max_offsets_per_trigger is not None
            and not self._options.ranges.fail_on_data_loss
        ):
            requested += [tp for tp, end in ends.items() if end > start.get(tp, end)]
        return self._cluster.earliest(requested) if requested else {}

    def _is_fixed_start(self) -> bool:
        """Return whether a query that restarts from these options starts at the same offsets."""
        starting = self._options.starting
        return isinstance(starting, Exact) and min(starting.offsets.values(), default=0) >= 0

    # --- the group --------------------------------------------------------------------------------

    def _commit(self, offsets: Offsets, ends: Offsets) -> None:
        target = self._target
        if target is None or not target.has_changes(offsets):
            return
        for left in reversed(range(self._options.retries)):
            try:
                self._refuse_live()
                target.commit(offsets, log_ends=ends)
            except ConfigError:
                raise
            except ZkConsumerError as error:
                if not left:
                    raise
                log.warning("offsets not committed yet: %s; tries left: %d", error, left)
                self._wait(self._options.retry_interval_ms)
            else:
                return

    def _glance_at_members(self) -> None:
        now_ms = self._clock.now_ms()
        if self._members_ms is not None and now_ms - self._members_ms < REFRESH_INTERVAL_MS:
            return
        try:
            self._refuse_live()
        except RegistryError as error:
            # Nothing is due to be committed; members are looked up again before a commit.
            self._members_ms = now_ms
            log.warning("members of the group can't be looked for: %s", error)

    def _refuse_live(self) -> None:
        if self._target is not None and not self._options.allow_live_group:
            self._target.refuse_live()
        self._members_ms = self._clock.now_ms()


def begun_plan(options: SourceOptions) -> StreamPlan:
    """Create the plan of a query, and begin it; the caller closes it.

    Raises:
        ConfigError: see ``StreamPlan.begin``.
        ZkConsumerError: the cluster does not respond.
    """
    for note in options.notes:
        log.warning("%s", note)
    cluster = ClusterReader.of(options)
    plan: StreamPlan | None = None
    try:
        plan = StreamPlan(options, cluster, progress_of(options, cluster))
        plan.begin()
    except BaseException:
        with suppress(ZkConsumerError):
            (plan or cluster).close()
        raise
    return plan
