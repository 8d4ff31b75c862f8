"""Assembles and runs a drain, on any engine, to any kind of target."""

import uuid

from zkconsumer.clock import SystemClock
from zkconsumer.drain.cluster import connected_drain
from zkconsumer.drain.engine import DrainEngine
from zkconsumer.drain.journal import BatchJournal
from zkconsumer.drain.protocols import ProgressListener, StopRequest
from zkconsumer.drain.runner import DrainReport, DrainRunner, Sides
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.stopping import DrainStopFlag


def run_drain(
    engine: DrainEngine,
    settings: DrainSettings,
    *,
    listener: ProgressListener | None = None,
    stop: StopRequest | None = None,
) -> DrainReport:
    """Land topics exactly once, then commit the group's offsets.

    The process may be killed at any point: a call with the same settings resumes the drain, on
    either engine.

    Raises:
        ConfigError: settings are wrong, another drain is at the path, or the group has live
            members.
        DrainError: the drain failed; no message is lost or duplicated by that.
        ZkConsumerError: the cluster or the group can't be reached.
    """
    options = settings.checked()
    storage = engine.storage(settings.path)
    clock = SystemClock()
    with connected_drain(options) as (source, group):
        sides = Sides(
            identity=settings.identity(uuid.uuid4().hex, clock.wall_ms()),
            journal=BatchJournal(storage),
            source=source,
            landing=engine.landing(settings, storage, source.ends),
            group=group,
            stop=stop or DrainStopFlag(),
            new_attempt=lambda: uuid.uuid4().hex,
            listener=listener or ProgressListener(),
            clock=clock,
        )
        return DrainRunner(settings, sides).run()
