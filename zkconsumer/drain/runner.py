"""Runs the loop of a drain, step by step, from the state that ``state`` describes."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.drain import layout
from zkconsumer.drain.cluster import DrainClusterSource
from zkconsumer.drain.identity import DrainIdentity
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.manifest import Manifest, check
from zkconsumer.drain.plan import (
    BatchPlan,
    Positions,
    make_plan,
    refuse_expired,
    refuse_recreated,
    refuse_truncated,
    refused_loss,
)
from zkconsumer.drain.protocols import Landing, ProgressListener, StopRequest
from zkconsumer.drain.proving.coverage import Discrepancy
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.state import JournalState
from zkconsumer.errors import DataLost, DrainError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.creations import Creations, created_again
from zkconsumer.spark.group_progress import GroupProgress


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainReport:
    """The result of one run.

    Attributes:
        batches: the number of batches it finished, those of a killed run included.
        rows: the number of messages in them, dead letters included.
        dead_lettered: the number of these that could not be decoded.
        expired: the ranges that the logs lost before they could be read.
        positions: the next offset of every partition.
        finished: whether everything was landed that the run was to land.
    """

    batches: int = 0
    rows: int = 0
    dead_lettered: int = 0
    expired: tuple[OffsetRange, ...] = ()
    positions: Positions = field(default_factory=dict)
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The collaborators of a runner."""

    identity: DrainIdentity
    journal: BatchJournal
    source: DrainClusterSource
    landing: Landing
    group: GroupProgress | None
    stop: StopRequest
    new_attempt: Callable[[], str]
    listener: ProgressListener = field(default_factory=ProgressListener)
    clock: Clock = field(default_factory=SystemClock)


class DrainRunner:
    """Runs a drain until it is done or stopped."""

    def __init__(self, settings: DrainSettings, sides: Sides) -> None:
        self._settings = settings
        self._sides = sides
        self._journal = sides.journal
        self._until: dict[TopicPartition, int] = {}
        self._log_ends: Positions = {}
        self._report = DrainReport()

    def run(self) -> DrainReport:
        """Finish the batch of an earlier run, then land batch after batch.

        After a stop request, it ends before the next batch is planned or read.

        Raises:
            ConfigError: the path holds another drain, or the group has live members.
            DrainError: the drain failed; no message is lost or duplicated by that.
            ZkConsumerError: the cluster, the group or the storage failed.
        """
        self._begin()
        with self._journal.alone():
            # Read under the lock: until now, another process may have continued the drain.
            state = self._journal.read_state()
            if not state.begun:
                raise DrainError(
                    f"{self._journal.path}: {layout.IDENTITY} was deleted just now; nothing was "
                    "done: find out by whom, and run this again"
                )
            self._go_on(state)
        return self._report

    def _begin(self) -> None:
        journal = self._journal.read_state()
        self._refuse_live()
        if not journal.begun:
            self._journal.refuse_taken()
            # Check first, so that the path is not bound to mistyped settings.
            self._sides.source.read_logs(None)
        self._journal.begin(self._sides.identity, self._sides.new_attempt())

    def _refuse_live(self) -> None:
        if self._sides.group is not None and not self._settings.allow_live_group:
            self._sides.group.refuse_live()

    def _go_on(self, state: JournalState) -> None:
        plan, stop = state.plan, self._sides.stop
        if plan is not None:
            if state.manifest is None:
                if stop.requested():
                    return
                self._finish(plan, self._land(plan))
            elif state.staged:
                self._sides.listener.on_landing(plan)
                self._finish(plan, state.manifest)
            else:
                # Files that tasks of a killed run wrote after another process landed the batch.
                self._journal.clean(plan.number)
        while not stop.requested():
            following = self._plan(plan)
            if following is not None:
                plan = following
                if stop.requested():
                    return
                self._finish(plan, self._land(plan))
            elif self._settings.once:
                return
            else:
                stop.wait(self._settings.interval_ms)

    def _plan(self, last: BatchPlan | None) -> BatchPlan | None:
        """Write the next plan and return it; None if everything is landed."""
        positions = {} if last is None else last.after()
        logs = self._sides.source.read_logs(None if last is None else positions)
        before: Creations = {} if last is None else last.created
        # Before comparing log ends, since the log of a recreated topic may be longer.
        refuse_recreated(created_again(before, logs.created), positions, self._journal.path)
        refuse_truncated(logs.bounds.latest, positions, self._journal.path)
        self._log_ends = logs.bounds.latest
        if self._settings.once:
            # A partition that appears later, or has a leader again, ends at its first known end.
            self._until = {**self._log_ends, **self._until}
        plan = make_plan(
            last,
            logs,
            now_ms=self._sides.clock.wall_ms(),
            until=self._until,
            max_offsets=self._settings.max_offsets_per_batch,
        )
        known = positions if plan is None else plan.positions
        self._report = replace(self._report, positions=known)
        goal = {tp: self._until.get(tp, end) for tp, end in self._log_ends.items()}
        self._sides.listener.on_snapshot(known, goal)
        if plan is None:
            self._report = replace(self._report, finished=True)
            return None
        if self._settings.fail_on_data_loss:
            refuse_expired(plan, self._journal.path)
        if plan.ranges:
            plan = replace(plan, notes=self._sides.landing.prepare(plan))
        self._journal.write_plan(plan)
        return plan

    def _land(self, plan: BatchPlan) -> Manifest:
        attempt = self._sides.new_attempt()
        self._journal.start_attempt(plan.number, attempt)
        if plan.ranges:
            # Checked before, so that nothing is read in vain; and again afterwards, since a topic
            # may be recreated meanwhile.
            self._check_topics(plan)
            self._sides.listener.on_landing(plan)
            try:
                manifest = self._sides.landing.land(plan, attempt)
            except DrainError as error:
                self._journal.refuse_landed(plan.number, error)
                raise
            except DataLost as lost:
                raise refused_loss(lost, self._journal.path) from None
            self._check_topics(plan)
        else:
            now_ms = self._sides.clock.wall_ms()
            manifest = Manifest(number=plan.number, attempt=attempt, landed_ms=now_ms)
        check(manifest, plan)
        self._journal.write_manifest(manifest)
        return manifest

    def _check_topics(self, plan: BatchPlan) -> None:
        topics = {part.topic_partition.topic for part in plan.ranges}
        now = self._sides.source.created(topics & plan.created.keys())
        refuse_recreated(created_again(plan.created, now), plan.positions, self._journal.path)

    def _finish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Publish a landed batch, commit it, and clean; each step may be a repetition."""
        self._sides.landing.publish(plan, manifest)
        self._commit(plan)
        self._clean(plan, manifest)

    def _commit(self, plan: BatchPlan) -> None:
        group = self._sides.group
        if group is None:
            return
        self._refuse_live()
        positions = plan.after()
        # Brokers refuse offsets of deleted topics, which must not block the others. A run that
        # finishes an earlier run's batch has not read the cluster yet: it commits that batch alone.
        known = self._log_ends or _touched(plan)
        # Nor must an offset of a deleted topic be committed for its recreated successor.
        now = self._sides.source.created({tp.topic for tp in known})
        gone = created_again(plan.created, now)
        there = {
            tp: offset for tp, offset in positions.items() if tp in known and tp.topic not in gone
        }
        group.commit(there, log_ends=self._log_ends)

    def _clean(self, plan: BatchPlan, manifest: Manifest) -> None:
        self._journal.clean(plan.number)
        before = self._report
        self._report = replace(
            before,
            finished=False,
            batches=before.batches + 1,
            rows=before.rows + manifest.rows,
            dead_lettered=before.dead_lettered + manifest.dead_lettered,
            expired=before.expired + plan.expired + _expired_since(manifest),
            positions=plan.after(),
        )
        self._sides.listener.on_landed(plan, manifest)


def _touched(plan: BatchPlan) -> set[TopicPartition]:
    """Return the partitions whose positions a batch changes."""
    return {*plan.starts, *(part.topic_partition for part in (*plan.expired, *plan.ranges))}


def _expired_since(manifest: Manifest) -> tuple[OffsetRange, ...]:
    """Return the offsets that expired between planning and reading."""
    return tuple(
        OffsetRange(part.topic_partition, absence.from_offset, absence.until_offset)
        for part in manifest.parts
        for absence in part.absent
        if absence.kind is Discrepancy.EXPIRED
    )
