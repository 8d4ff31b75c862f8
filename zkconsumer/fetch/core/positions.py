"""The thread that looks up positions: offsets of reset policies, ends of logs and epochs.

It also requests new metadata for partitions without a leader.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import EARLIEST, LATEST, TimedOffset
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ProtocolError, TransportError, ZkConsumerError
from zkconsumer.fetch.core.partition_state import PositionLookup
from zkconsumer.fetch.core.partition_states import PartitionStates
from zkconsumer.fetch.core.planning import PositionLookups, plan_lookups
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.model import TopicPartition
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.scope import WakeEvent

_ABOUT = "looking up offsets"
_FIRST_TIMEOUT_MS = 3_000
"""Time limit of the first try, ms; each further try doubles it, up to the request timeout.

A leader that does not respond delays the results of the others by this.
"""

Found = TimedOffset | int


class PositionResolver:
    """Look up positions. Thread: its own, but for ``wake`` and ``stop``.

    Args:
        shared: state of all partitions.
        client: sends the lookups; its owner stops it, which ends a lookup under way.
        update_metadata: requests new metadata soon, without waiting; called if leaders are missing.
        settings: times and isolation level.
        clock: for pauses.
    """

    def __init__(
        self,
        shared: SharedFetchState,
        client: ClusterClient,
        update_metadata: Callable[[], object],
        settings: CoreFetchSettings,
        clock: Clock,
    ) -> None:
        self._shared = shared
        self._client = client
        self._update_metadata = update_metadata
        self._settings = settings
        self._clock = clock
        self._wakeup = WakeEvent()
        self._limit_ms = min(_FIRST_TIMEOUT_MS, settings.request_timeout_ms)
        self._stopping = False

    def wake(self) -> None:
        """Check again for due lookups. Thread: any."""
        self._wakeup.notify()

    def stop(self) -> None:
        """End soon. Thread: any."""
        self._stopping = True
        self._wakeup.notify()

    def run(self) -> None:
        """Run lookups until ``stop``."""
        while not self._stopping:
            # Before the turn: wakeups from here on may be about news that the turn misses.
            self._wakeup.clear()
            self._wakeup.wait(self.run_due_lookups())

    def run_due_lookups(self) -> int | None:
        """Run the due lookups; return how long to wait afterwards, ms, or None: until woken."""
        lookups = self._shared.change(begin_lookups)
        if lookups.all():
            self._request(lookups)
            return 0
        rest_ms = lookups.due_ms
        if rest_ms is not None:
            rest_ms = max(1, rest_ms - self._clock.now_ms())
        if self._shared.read(PartitionStates.has_leaderless_partitions):
            self._update_metadata()
            most_ms = self._settings.retry_backoff_max_ms
            rest_ms = most_ms if rest_ms is None else min(rest_ms, most_ms)
        return rest_ms

    def _request(self, lookups: PositionLookups) -> None:
        resets = lookups.resets
        self._try([lookup for lookup, _ in resets], partial(self._look_up_resets, resets))
        self._try(lookups.edges, partial(self._look_up_edges, lookups.edges))
        self._try(lookups.epochs, partial(self._look_up_epochs, lookups.epochs))

    def _try(self, lookups: Sequence[PositionLookup], request: Callable[[], bool]) -> None:
        """Send lookups, if any; if all fail, schedule a retry, or report the error."""
        if not lookups:
            return
        try:
            all_answered = request()
        except (TransportError, ProtocolError) as error:
            if not self._stopping:
                self._shared.repeats.happened(_ABOUT, f"offset lookup failed: {error}")
            all_answered = False
            code = ErrorCode.NETWORK_EXCEPTION
            self._conclude(
                lookups, lambda states, lookup, now_ms: states.on_error_code(lookup, code, now_ms)
            )
        except ZkConsumerError as error:
            failure = error
            self._conclude(
                lookups,
                lambda states, lookup, now_ms: states.give_up_lookup(lookup, failure, now_ms),
            )
            return
        else:
            self._shared.repeats.works(_ABOUT)
        longest_ms = self._settings.request_timeout_ms
        self._limit_ms = (
            min(_FIRST_TIMEOUT_MS, longest_ms)
            if all_answered
            else min(self._limit_ms * 2, longest_ms)
        )

    def _conclude(
        self,
        lookups: Iterable[PositionLookup],
        apply: Callable[[PartitionStates, PositionLookup, int], None],
    ) -> None:
        def take(states: PartitionStates, now_ms: int) -> None:
            for lookup in lookups:
                apply(states, lookup, now_ms)

        self._shared.change(take)

    def _look_up_resets(self, resets: Sequence[tuple[PositionLookup, LogEdge]]) -> bool:
        times = {lookup.topic_partition: int(policy) for lookup, policy in resets}
        found = self._list(times, self._settings.isolation)
        self._conclude(
            (lookup for lookup, _ in resets),
            lambda states, lookup, now_ms: states.on_reset(
                lookup, found[lookup.topic_partition], now_ms
            ),
        )
        return not any(isinstance(offset, int) for offset in found.values())

    def _look_up_edges(self, lookups: tuple[PositionLookup, ...]) -> bool:
        """Look up log start and end, whatever the isolation: these bound what can be fetched."""
        partitions = [lookup.topic_partition for lookup in lookups]
        starts = self._list(dict.fromkeys(partitions, int(EARLIEST)))
        ends = self._list(dict.fromkeys(partitions, int(LATEST)))

        self._conclude(
            lookups,
            lambda states, lookup, now_ms: states.on_edges(
                lookup, starts[lookup.topic_partition], ends[lookup.topic_partition], now_ms
            ),
        )
        return not any(isinstance(edge, int) for edge in (*starts.values(), *ends.values()))

    def _look_up_epochs(self, lookups: tuple[PositionLookup, ...]) -> bool:
        requested = {
            lookup.topic_partition: (lookup.leader_epoch, lookup.fetched.leader_epoch)
            for lookup in lookups
            if lookup.fetched is not None
        }
        ends: Mapping[TopicPartition, EpochEnd | int | None] = self._client.epoch_ends(
            requested, timeout_ms=self._limit_ms
        )
        self._conclude(
            lookups,
            lambda states, lookup, now_ms: states.on_epoch_end(
                lookup, ends[lookup.topic_partition], now_ms
            ),
        )
        return not any(isinstance(end, int) for end in ends.values())

    def _list(
        self,
        times: Mapping[TopicPartition, int],
        isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    ) -> Mapping[TopicPartition, Found]:
        return self._client.list_offsets(times, timeout_ms=self._limit_ms, isolation=isolation)


def begin_lookups(states: PartitionStates, now_ms: int) -> PositionLookups:
    """Plan lookups as ``plan_lookups`` does; they count as under way from now."""
    lookups = plan_lookups(states, now_ms)
    states.begin_lookups(lookups.all())
    return lookups
