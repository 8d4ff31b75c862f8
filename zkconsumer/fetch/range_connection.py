"""The connection of a range's reader: to one broker at a time, out of its client's pool."""

from zkconsumer.clock import Clock
from zkconsumer.cluster.connection_pool import ConnectionPool
from zkconsumer.errors import ConnectionLost, ZkConsumerError
from zkconsumer.fetch.core.fetch_connection import FetchConnection, Wait
from zkconsumer.fetch.core.pump_maker import MakePump
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.fetch.range_pump import RangePump
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.scope import WakeEvent


class RangeConnection:
    """Connect to the broker that a range is fetched from.

    Thread: its reader's; the thread of a run dials a second connection for a hedged request.

    Args:
        pool: the connections.
        shared: state of the range's partition.
        settings: fetch settings.
        clock: for pauses.
        make_pump: makes the pump of a connection.
        name: the name of the pump's thread.
    """

    def __init__(
        self,
        pool: ConnectionPool,
        shared: SharedFetchState,
        settings: CoreFetchSettings,
        clock: Clock,
        *,
        make_pump: MakePump,
        name: str,
    ) -> None:
        self._pool = pool
        self._shared = shared
        self._settings = settings
        self._clock = clock
        self._make_pump = make_pump
        self._name = name
        self._wakeup = WakeEvent()
        self._line: FetchConnection | None = None
        self._pump: RangePump | None = None
        self._taken: list[NegotiatedConnection] = []
        self._is_reused = False
        # Brokers' throttle times apply to the next connection to them as well.
        self._paused_until_ms: dict[Broker, int] = {}

    @property
    def is_stopped(self) -> bool:
        """Whether the client is stopped, so that no more requests are possible."""
        return self._pool.stopped

    @property
    def pump(self) -> RangePump | None:
        """The pump that fetches now, so that the connection is not the reader's; None: none."""
        pump = self._pump
        return pump if pump is not None and pump.is_running else None

    @property
    def failure(self) -> ZkConsumerError | None:
        """The failure since the last valid response; None: none."""
        return None if self._line is None else self._line.failure

    def connect_to(self, broker: Broker) -> None:
        """Fetch from this broker; the connection is opened by ``turn``."""
        if self._line is not None and self._line.broker != broker:
            self.let_go(is_done=False)
        if self._line is None:
            self._line = FetchConnection(
                broker,
                self._shared,
                dial=self._dial,
                settings=self._settings,
                clock=self._clock,
            )
            self._line.exchange.paused_until_ms = self._paused_until_ms.get(broker, 0)
            self._pump = self._pump_of(self._line)

    def turn(self) -> Wait:
        """Send a request and wait for its response; see ``FetchConnection.turn``."""
        assert self._line is not None
        return self._line.turn()

    def starts_pump(self) -> bool:
        """Have the pump fetch if much of the range is left; return whether it does."""
        return self._pump is not None and self._pump.start()

    def send_early(self) -> None:
        """Send the next request, if there is a connection."""
        if self._line is not None:
            self._line.send_early()

    def on_response(self) -> None:
        """Record that the broker responded: a failure from here on is no idle connection's end."""
        self._is_reused = False

    def was_closed_idle(self, failure: ZkConsumerError) -> bool:
        """Return whether a connection out of the pool failed before its first response.

        Most likely it was closed while idle: that shows nothing about the broker now.
        """
        return self._is_reused and isinstance(failure, ConnectionLost)

    def let_go(self, *, is_done: bool) -> None:
        """Return the connection; close it if a response is outstanding.

        Args:
            is_done: whether the whole range has been read.
        """
        if self._pump is not None:
            self._pump.close(is_done=is_done)
            self._pump = None
        line, self._line = self._line, None
        if line is not None:
            self._paused_until_ms[line.broker] = line.exchange.paused_until_ms
        self._give_back()

    def _give_back(self) -> None:
        while self._taken:
            self._pool.give_back(self._taken.pop())

    def _dial(self, broker: Broker, /, *, timeout_ms: int | None = None) -> NegotiatedConnection:
        # A failed dial is not a pooled connection that was closed; and no failure concerns the
        # connection of a hedged request.
        self._is_reused = False
        connection, is_reused = self._pool.take_or_dial(
            broker, timeout_ms=timeout_ms or self._settings.request_timeout_ms
        )
        self._taken.append(connection)
        self._is_reused = is_reused and timeout_ms is None
        if self._line is None:
            # The thread of a pump dialled for longer than its reader waited for it.
            connection.close()
            self._give_back()
            raise ConnectionLost(f"{broker}: {self._name} is not read any more")
        return connection

    def _pump_of(self, line: FetchConnection) -> RangePump | None:
        wake = self._wakeup.notify
        pumped = self._make_pump(line, self._shared, self._settings, self._clock, wake)
        return None if pumped is None else RangePump(line, pumped, self._wakeup, self._name)
