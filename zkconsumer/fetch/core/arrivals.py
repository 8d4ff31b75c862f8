"""Apply broker responses to a partition's state: fetches and position lookups.

Callers pass only responses that still count: the state still holds the request that they
answer. Pure.
"""

from dataclasses import dataclass
from typing import Final

from zkconsumer.backoff import Backoff
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.error_codes import ErrorCode, error_name
from zkconsumer.errors import (
    CorruptRecord,
    LogTruncated,
    OffsetOutOfRange,
    PartitionFailed,
    TopicAuthorizationFailed,
    ZkConsumerError,
)
from zkconsumer.fetch.core.completed import PartitionRequest, Unpacked
from zkconsumer.fetch.core.effects import Effects
from zkconsumer.fetch.core.partition_state import (
    PartitionState,
    PendingError,
    Phase,
    PositionLookup,
)
from zkconsumer.fetch.core.record_set import is_filled, next_request_bytes, offset_after_damage
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.starts import EARLIEST, PositionView, are_ends, is_outside
from zkconsumer.records.offset_order import BeyondEnd
from zkconsumer.wire.absent import NO_BROKER, NO_EPOCH
from zkconsumer.wire.messages.fetch import NO_DIVERGENCE, FetchedPartition

_REPLICA_LEASE_MS = 300_000
"""How long a replica is used before the leader may choose again: ``metadata.max.age.ms``."""

_QUICK_TIMES: Final = 4
"""If a response takes longer than the request time-out divided by this, requests don't grow.

The time begins with the plan; for an early request it includes unpacking the previous response.
"""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Apply responses to partition states.

    Attributes:
        settings: fetch settings and reset policy.
        now_ms: the time.
        effects: collects the follow-up actions.
    """

    settings: CoreFetchSettings
    now_ms: int
    effects: Effects

    def fetched(
        self,
        state: PartitionState,
        requested: PartitionRequest,
        response: FetchedPartition,
        unpacked: Unpacked,
    ) -> None:
        """Apply a fetch response with its unpacked records."""
        code = response.error_code
        state.responses += 1
        state.packed = None
        if code == ErrorCode.NONE:
            state.high_watermark = response.high_watermark
            state.last_stable = response.last_stable_offset
            state.log_start = response.log_start_offset
            most_bytes = self._most_grown(requested, unpacked)
            next_bytes = next_request_bytes(requested.max_bytes, len(response.records), most_bytes)
            state.grow(min(requested.max_bytes, self.settings.grown_bytes), next_bytes)
            state.is_behind = is_filled(requested.max_bytes, len(response.records))
            self._sound(state, requested, response, unpacked)
        elif code == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._out_of_range(state, requested)
        elif code == ErrorCode.CORRUPT_MESSAGE:
            self._corrupt(state, f"the broker reported {error_name(code)}", None)
        else:
            self._refused(state, code, f"Fetch from {requested.broker}")

    def _most_grown(self, requested: PartitionRequest, unpacked: Unpacked) -> int:
        """Return the largest size of a partition's next request; 0: the usual.

        On a slow link a larger response would not arrive in time. Decompressed records have to fit
        into the buffers twice: those of one response wait while the next is unpacked.
        """
        settings, planned_ms = self.settings, requested.planned_ms
        if planned_ms is not None:
            took_ms = self.now_ms - planned_ms
            if took_ms * _QUICK_TIMES > settings.request_timeout_ms:
                return 0
        if unpacked.chunk is None:
            return settings.grown_bytes
        read_bytes = max(1, unpacked.chunk.wire_bytes)
        memory_bytes = max(read_bytes, unpacked.chunk.memory_bytes)
        return min(settings.grown_bytes, settings.max_bytes // 2 * read_bytes // memory_bytes)

    def unpacked(self, state: PartitionState, unpacked: Unpacked) -> None:
        """Append a response's records, or a piece of them, to the buffered ones."""
        chunk = unpacked.chunk
        state.needed_bytes = unpacked.needed_bytes
        state.packed = unpacked.packed
        if chunk is not None:
            state.waiting.append(chunk)
            state.fetched = chunk.end
            self.effects.notify_caller = True
            if unpacked.corrupt is None:
                state.suspect_offset = None
        if unpacked.corrupt is not None:
            self._corrupt(state, str(unpacked.corrupt), unpacked.corrupt)
        elif unpacked.too_large is not None:
            state.stop_with(PendingError(unpacked.too_large))
            self.effects.notify_caller = True

    def left_out(self, state: PartitionState, requested: PartitionRequest) -> None:
        """Retry a partition that a response omits: its leader may have changed."""
        state.responses += 1
        self._lose_leader(state, f"Fetch from {requested.broker}: the response does not include it")

    def reset(self, state: PartitionState, found: TimedOffset | int) -> None:
        """Apply the offset looked up for the reset policy, or the lookup's error code."""
        state.lookup = None
        if isinstance(found, int):
            self._refused(state, found, "ListOffsets")
            return
        if found.offset < 0:
            self._lose_leader(state, "ListOffsets: no offset in the response")
            return
        epoch = NO_EPOCH if found.leader_epoch is None else found.leader_epoch
        state.start_at(PositionView(found.offset, epoch))
        self._restarted(state)

    def edges(self, state: PartitionState, lookup: PositionLookup, start: int, end: int) -> None:
        """Apply the log's start and end offsets, looked up after an out-of-range error."""
        state.lookup = None
        fetched = lookup.fetched
        assert fetched is not None
        tp, offset = state.topic_partition, fetched.offset
        if not are_ends(start, end):
            self._lose_leader(state, "ListOffsets: invalid log start and end offsets")
        elif not is_outside(offset, start, end, state.doubts):
            # The leader is out of date, or it doesn't know where our epoch ended: look that up now.
            state.doubts += 1
            state.phase = Phase.FETCHING
            state.await_validation()
            reported = f"it reported offset {offset} out of range"
            self._lose_leader(state, f"{reported}, but its log is [{start}, {end}]")
        elif self.settings.reset is None:
            state.stop_with(PendingError(OffsetOutOfRange(tp, offset, start, end)))
            self.effects.notify_caller = True
        else:
            self._note(f"{tp}: offset {offset} is not in the log [{start}, {end})")
            state.phase = Phase.OUTSIDE
            self.leave(state)

    def epoch_end(
        self, state: PartitionState, lookup: PositionLookup, end: EpochEnd | int | None
    ) -> None:
        """Apply the end offset of the last fetched epoch; None if no broker knows it."""
        state.lookup = None
        if isinstance(end, int):
            error = ErrorCode.of(end)
            if error.retriable or error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
                self._refused(state, end, "OffsetForLeaderEpoch")
                return
            self._note(
                f"{state.topic_partition}: can't check for a truncated log: {error_name(end)}"
            )
            end = None
        if state.fetched != lookup.fetched:
            self.effects.resolve_positions = True  # fetched meanwhile: look up again
            return
        state.awaits_validation = False
        state.succeed()
        if end is not None:
            self._judge(state, PositionView(end.end_offset, end.epoch))
        self._restarted(state)

    def refused(self, state: PartitionState, code: int) -> None:
        """Apply an error code returned by a lookup."""
        state.lookup = None
        self._refused(state, code, "ListOffsets")

    def recreated(self, state: PartitionState) -> None:
        """Restart a partition whose topic was deleted and created again: all its records are new.

        It is read from its start, whatever the reset policy; without a policy an error is reported.
        """
        position = state.position
        if self.settings.reset is None and position is not None:
            tp = state.topic_partition
            truncated = LogTruncated(tp, position.offset, 0, NO_EPOCH, is_recreated=True)
            self._report_truncation(state, truncated)
        else:
            state.reset(EARLIEST)
            self.effects.resolve_positions = True

    def leave(self, state: PartitionState) -> None:
        """Apply the reset policy to a partition out of range, once its buffer is handed out."""
        policy = self.settings.reset
        if state.phase is Phase.OUTSIDE and not state.waiting and policy is not None:
            self._note(f"{state.topic_partition}: continuing at its {policy.name.lower()} offset")
            state.reset(policy)
            self.effects.resolve_positions = True

    def _sound(
        self,
        state: PartitionState,
        requested: PartitionRequest,
        response: FetchedPartition,
        unpacked: Unpacked,
    ) -> None:
        state.succeed()
        state.doubts = 0
        has_asked = requested.start.leader_epoch != NO_EPOCH
        if has_asked and response.diverging_epoch != NO_DIVERGENCE:
            diverging = response.diverging_epoch
            self._judge(state, PositionView(diverging.end_offset, diverging.epoch))
            self._restarted(state)
        elif self._names_replica(response) and requested.broker == state.leader:
            state.replica = response.preferred_read_replica
            state.replica_until_ms = self.now_ms + _REPLICA_LEASE_MS
        else:
            self.unpacked(state, unpacked)

    @staticmethod
    def _names_replica(response: FetchedPartition) -> bool:
        """Return whether a leader names the nearest replica instead of sending records."""
        return response.preferred_read_replica != NO_BROKER and not len(response.records)

    def _corrupt(self, state: PartitionState, reason: str, cause: CorruptRecord | None) -> None:
        """Fetch again before believing a corruption: a disk or the network may be at fault."""
        fetched = state.fetched
        assert fetched is not None
        if state.suspect_offset != fetched.offset:
            state.suspect_offset = fetched.offset
            if isinstance(cause, BeyondEnd):
                return  # on a busy log this is no fault so far: retry without a pause
            self._fail(state)
            self._note(f"{state.topic_partition}: {reason}; retrying")
            return
        claimed = None if cause is None else cause.next_offset
        next_offset = offset_after_damage(claimed, fetched.offset, state.high_watermark)
        if next_offset is not None:
            reason = f"{reason}; to skip it, seek to {next_offset}"
        failed = PartitionFailed(
            state.topic_partition, fetched.offset, reason, code=ErrorCode.CORRUPT_MESSAGE
        )
        failed.__cause__ = cause
        state.stop_with(PendingError(failed))
        self.effects.notify_caller = True

    def _out_of_range(self, state: PartitionState, requested: PartitionRequest) -> None:
        if requested.broker != state.leader:
            # A replica may lag behind: fetch from the leader.
            state.replica = None
            self._fail(state)
            return
        state.phase = Phase.CHECKING_RANGE
        self.effects.resolve_positions = True

    def _judge(self, state: PartitionState, end: PositionView) -> None:
        """Compare the last fetched epoch's end in the leader's log with what was fetched (KIP-320).

        An unclean election may elect a replica whose log is shorter than what was read. Lost
        records that were only fetched ahead are fetched again; if the caller has some of them, that
        is an error, or with a reset policy the position steps back.

        Source: Kafka 3.9 ``SubscriptionState.maybeCompleteValidation``.
        """
        position, fetched = state.position, state.fetched
        assert position is not None
        assert fetched is not None
        tp = state.topic_partition
        if end.offset < 0 or end.leader_epoch < 0:
            self._note(f"{tp}: the leader does not know epoch {fetched.leader_epoch}")
            self._left(state, None)
            return
        if end.offset >= fetched.offset:
            # The next result is compared with an epoch that the leader has.
            epoch = min(fetched.leader_epoch, end.leader_epoch)
            state.fetched = PositionView(fetched.offset, epoch)
        elif end.offset >= position.offset:
            self._note(f"{tp}: the log was truncated to {end.offset}, not below the position")
            state.seek(position)
        else:
            self._note(
                f"{tp}: the log was truncated to {end.offset}, below the position {position.offset}"
            )
            self._left(state, end)

    def _left(self, state: PartitionState, common_end: PositionView | None) -> None:
        """Handle a truncation below the caller's position: step back, or report it.

        If the common end of both logs is unknown, the reset policy decides where to continue.
        """
        position, policy = state.position, self.settings.reset
        assert position is not None
        tp = state.topic_partition
        if policy is None:
            truncated = LogTruncated(tp, position.offset)
            if common_end is not None:
                known = common_end.offset, common_end.leader_epoch
                truncated = LogTruncated(tp, position.offset, *known)
            self._report_truncation(state, truncated)
        elif common_end is None:
            self._note(f"{tp}: continuing at its {policy.name.lower()} offset")
            state.reset(policy)
            self.effects.resolve_positions = True
        else:
            self._note(f"{tp}: continuing at {common_end.offset}")
            state.seek(common_end)

    def _report_truncation(self, state: PartitionState, truncated: LogTruncated) -> None:
        """Report the truncation to the caller, before any further record."""
        state.refetch()
        state.stop_with(PendingError(truncated))
        self.effects.notify_caller = True

    def _refused(self, state: PartitionState, code: int, what: str) -> None:
        """Handle an error code: retry, or report it to the caller."""
        error, tp = ErrorCode.of(code), state.topic_partition
        if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            self._fail(state)
            state.stop_with(PendingError(TopicAuthorizationFailed((tp.topic,)), is_retriable=True))
            self.effects.notify_caller = True
            return
        if error.may_retry_fetch:
            self._lose_leader(state, f"{what}: {error_name(code)}")
            return
        offset = -1 if state.fetched is None else state.fetched.offset
        reason = f"{what}: {error_name(code)}: {error.text}"
        is_retriable = state.fetched is None
        self._fail(state)
        state.stop_with(
            PendingError(PartitionFailed(tp, offset, reason, code=code), is_retriable=is_retriable)
        )
        self.effects.notify_caller = True

    def _lose_leader(self, state: PartitionState, reason: str) -> None:
        """Retry later, maybe at another broker."""
        state.replica = None
        self._fail(state)
        self.effects.refresh_metadata = True
        self.effects.lost[state.topic_partition] = reason
        self._note(f"{state.topic_partition}: {reason}")

    def _fail(self, state: PartitionState) -> None:
        settings = self.settings
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, jitter=0)
        state.fail(self.now_ms, backoff.delay_ms(state.failures, 0))

    def _restarted(self, state: PartitionState) -> None:
        """Wake the partition's fetcher, and the caller, which may wait for the position."""
        self.effects.notify_caller = True
        self.effects.resolve_positions |= state.is_asking
        if state.source is not None:
            self.effects.wake.add(state.source)

    def _note(self, text: str) -> None:
        self.effects.notes.append(text)


def is_reported_only(error: ZkConsumerError) -> bool:
    """Return whether only the broker reported the damage, so that a retry may succeed."""
    return (
        isinstance(error, PartitionFailed)
        and error.code == ErrorCode.CORRUPT_MESSAGE
        and not isinstance(error.__cause__, CorruptRecord)
    )
