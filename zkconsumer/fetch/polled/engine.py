"""Fetches ahead for a caller that polls, one thread for each broker; the door of this package.

Everything the caller hears comes out of ``collect``: records, and what stands in their way.
Positions move there and nowhere else, so that what was fetched ahead is never taken for handed out.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zkconsumer.clock import Clock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.fetch.polled.settings import PollFetchSettings
from zkconsumer.fetch.polled.starts import PositionView, Start
from zkconsumer.model import TopicPartition
from zkconsumer.records.slices import RecordSlice
from zkconsumer.scope import ThreadScope

if TYPE_CHECKING:
    from zkconsumer.cluster.cluster_client import ClusterClient
    from zkconsumer.cluster.keeper import MetadataKeeper
    from zkconsumer.net.negotiated import BrokerDialer


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineStats:
    """What fetching came to so far; every number but the last four only grows.

    Attributes:
        fetches: answers that came.
        failed_fetches: requests without an answer.
        fetched_bytes: of record sets, as they came.
        fetched_records: as they were unpacked; what was dropped later counts, too.
        fetch_time_ms: from request to answer, all waiting at brokers included.
        throttle_time_ms: how long brokers asked to pause (quotas).
        collected_records: handed to the caller.
        collected_bytes: keys and values of these.
        buffered_bytes: what waits for the caller takes in memory.
        buffered_records: what waits for the caller.
        brokers: threads that fetch.
        in_flight: requests that wait for their answers.
    """

    fetches: int = 0
    failed_fetches: int = 0
    fetched_bytes: int = 0
    fetched_records: int = 0
    fetch_time_ms: int = 0
    throttle_time_ms: int = 0
    collected_records: int = 0
    collected_bytes: int = 0
    buffered_bytes: int = 0
    buffered_records: int = 0
    brokers: int = 0
    in_flight: int = 0


class PollEngine:
    """Thread: the caller's, but for ``cluster_changed``; no method waits for the network.

    Args:
        dialer: connects to brokers; its owner stops it before joining the scope.
        client: asks for ends of logs and of epochs; stopped by its owner likewise.
        keeper: who leads what. Which topics it watches is its owner's choice.
        settings: how to fetch.
        scope: owns the threads.
        wake: called from the engine's threads when ``ready`` may have become true; must only set
            a flag or put into a mailbox.
        clock: for pauses and time-outs.
    """

    def __init__(  # noqa: PLR0913 - each is another part of the consumer
        self,
        *,
        dialer: "BrokerDialer",
        client: "ClusterClient",
        keeper: "MetadataKeeper",
        settings: PollFetchSettings,
        scope: ThreadScope,
        wake: Callable[[], None],
        clock: Clock,
    ) -> None:
        raise NotImplementedError

    def add(self, partitions: Iterable[TopicPartition]) -> None:
        """Take over partitions; nothing is fetched of one before its ``seek``."""
        raise NotImplementedError

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Give partitions up, at once: what waits of them is dropped."""
        raise NotImplementedError

    def seek(self, tp: TopicPartition, start: Start) -> None:
        """Read on from somewhere else; drops what waits of the partition, errors too.

        Raises:
            KeyError: the partition is not here.
        """
        raise NotImplementedError

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Hand out nothing of these and fetch nothing more; what waits is kept."""
        raise NotImplementedError

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Undo ``pause``."""
        raise NotImplementedError

    def paused(self) -> frozenset[TopicPartition]:
        """The partitions that are paused."""
        raise NotImplementedError

    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that are here."""
        raise NotImplementedError

    def collect(
        self, max_records: int, among: Collection[TopicPartition] | None = None
    ) -> dict[TopicPartition, RecordSlice]:
        """Take what came, partitions in turns, and move their positions behind it.

        Args:
            max_records: the most to take, all partitions together; at least 1.
            among: only from these; None: from all. Of others what waits is kept.

        Returns:
            A slice with at least one record for each partition that gave some.

        Raises:
            OffsetOutOfRange: and there is no policy; so for LogTruncated. The partition waits for
                a ``seek``, as with the next two.
            PartitionFailed: what lies at the position can't be read.
            MessageTooLarge: the record at the position is larger than may be fetched.
            TopicAuthorizationFailed: it will be tried again.
            AuthenticationFailed: a broker refuses us; so for UnsupportedVersion.

            Only if nothing was taken; else the next call raises it. A partition that waits for a
            ``seek`` raises again whenever its turn comes, the others go on.
        """
        raise NotImplementedError

    def ready(self, among: Collection[TopicPartition] | None = None) -> bool:
        """Whether ``collect`` would give or raise something."""
        raise NotImplementedError

    def position(self, tp: TopicPartition) -> PositionView | None:
        """Where the caller stands; None while that is not known, or the partition not here."""
        raise NotImplementedError

    def without_position(self) -> frozenset[TopicPartition]:
        """The partitions that need a ``seek`` before anything is fetched of them.

        Not those whose position a policy is about to give.
        """
        raise NotImplementedError

    def high_watermark(self, tp: TopicPartition) -> int | None:
        """The end of what is replicated, as of the last answer; None if not known."""
        raise NotImplementedError

    def last_stable(self, tp: TopicPartition) -> int | None:
        """The offset in front of which no transaction is open; None if not known."""
        raise NotImplementedError

    def log_start(self, tp: TopicPartition) -> int | None:
        """The first offset that is still there; None if not known (brokers before 1.0)."""
        raise NotImplementedError

    def lag(self, tp: TopicPartition) -> int | None:
        """How far the position is from the end that the caller may read; None if not known."""
        raise NotImplementedError

    def stats(self) -> EngineStats:
        """Counters."""
        raise NotImplementedError

    def cluster_changed(self, view: ClusterView) -> None:
        """There is a new view of the cluster: to be called by the keeper's ``on_change``.

        Thread: any. What is forgotten here, the next ``collect`` finds out.
        """
        raise NotImplementedError

    def stop(self) -> None:
        """Ask all threads to end soon, and close their connections. Thread: any.

        Their scope joins them. Afterwards nothing is fetched any more; positions can still be read.
        """
        raise NotImplementedError
