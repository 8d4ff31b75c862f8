"""Start and end fetching: one leader finder, and the fetch loops that it starts.

Source: Kafka 0.8.2.2 ``ConsumerFetcherManager``. There a rebalance stops every fetcher and waits
for each; here it marks claims as given up, without a wait, and the fetchers keep running.
"""

import logging
from collections.abc import Callable, Iterable

from zkconsumer.clock import Clock
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.fetcher import PythonFetchLoop
from zkconsumer.fetch.leader_finder import LeaderFinder, LeaderLookup
from zkconsumer.fetch.loop import FetchLoop, LoopReport
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.model import Broker
from zkconsumer.observe import SILENT, Observation
from zkconsumer.records.engine import ENGINE, Engine
from zkconsumer.repeats import Repeats
from zkconsumer.scope import ThreadScope

log = logging.getLogger(__name__)


class FetchManager:
    """Fetches the claimed partitions into their queues until they are given up.

    Args:
        access: looks up brokers and leaders.
        settings: fetch settings.
        scope: owns the threads.
        clock: for pauses.
        on_death: called on the leader finder's thread with the error that ended it: fetching
            stops. (A fetcher that dies gives its partitions back, and is replaced.)
        observation: observes responses, lost leaders and resets.
    """

    def __init__(
        self,
        *,
        access: LeaderLookup,
        settings: FetchSettings,
        scope: ThreadScope,
        clock: Clock,
        on_death: Callable[[BaseException], None] | None = None,
        observation: Observation = SILENT,
    ) -> None:
        repeats = Repeats(log, clock)

        def new_loop(broker: Broker, report: LoopReport) -> FetchLoop:
            return loop_class()(
                broker,
                report,
                settings=settings,
                dial=access.dial,
                observation=observation,
                clock=clock,
                repeats=repeats,
            )

        self._finder = LeaderFinder(
            access=access,
            new_loop=new_loop,
            settings=settings,
            scope=scope,
            clock=clock,
            observation=observation,
            repeats=repeats,
        )
        self._scope = scope
        self._on_death = on_death
        self._started = False

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """Fetch partitions, each from its offset (None: by the reset policy). Thread: control."""
        if not self._started:
            self._started = True
            self._scope.spawn(
                "leader-finder", self._finder.run, stop=self._finder.stop, on_error=self._on_death
            )
        self._finder.find(claims)

    def brokers(self) -> tuple[Broker, ...]:
        """Return the brokers that are fetched from, each once. Thread: any."""
        return self._finder.brokers()

    def wake(self) -> None:
        """Release claims that were given up. Never waits. Thread: any."""
        self._finder.wake()


def loop_class(engine: Engine = ENGINE) -> type[PythonFetchLoop]:
    """Return the loop class of an engine.

    The native loop extends the Python loop, and runs as one if a connection has no descriptor or a
    queue is not native.
    """
    if engine is Engine.PURE:
        return PythonFetchLoop
    # The native core may not be installed.
    from zkconsumer.fetch.native_loop import NativeFetchLoop  # noqa: PLC0415

    return NativeFetchLoop
