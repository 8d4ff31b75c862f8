"""Choose what makes the pumps of connections: the native core, if there is one."""

from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.fetch.core.fetch_connection import FetchConnection
from zkconsumer.fetch.core.pumped_connection import PumpedConnection
from zkconsumer.fetch.core.settings import CoreFetchSettings
from zkconsumer.fetch.core.shared_state import SharedFetchState
from zkconsumer.records.engine import ENGINE, Engine

MakePump = Callable[
    [FetchConnection, SharedFetchState, CoreFetchSettings, Clock, Callable[[], None]],
    PumpedConnection | None,
]
"""Makes the pump of a connection; None: Python alone fetches.

The last argument wakes the caller that waits for a chunk.
"""


def pump_maker() -> MakePump:
    """Return what makes pumps; without the native core it makes none."""
    if ENGINE is not Engine.NATIVE:
        return lambda *_: None
    from zkconsumer.fetch.core.native_pump import make_pump  # noqa: PLC0415 - it loads the core

    return make_pump
