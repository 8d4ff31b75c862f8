"""Puts a drain together and runs it: on a Spark session, to whatever kind of target."""

import uuid

from pyspark.sql import SparkSession

from zkconsumer.clock import SystemClock
from zkconsumer.drain.cluster import OpenCluster
from zkconsumer.drain.hadoop_storage import HadoopStorage
from zkconsumer.drain.journal import Journal
from zkconsumer.drain.landing import Landing
from zkconsumer.drain.landing_files import FilesLanding
from zkconsumer.drain.parts import Parts
from zkconsumer.drain.rows import RangeRows, RowCounter, SparkWriter, drain_session
from zkconsumer.drain.runner import DrainReport, Runner, RunSettings, Sides
from zkconsumer.drain.seams import NoWatch, Stop, Watch
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.stopping import StopFlag
from zkconsumer.spark.session import register


def drain(
    session: SparkSession,
    settings: DrainSettings,
    *,
    watch: Watch | None = None,
    stop: Stop | None = None,
) -> DrainReport:
    """Land topics exactly once, then commit the group's offsets.

    It may be killed at any point: called again with the same settings, it goes on where it was.

    Args:
        session: of Spark; its settings stay as they are.
        settings: what to drain, and where to.
        watch: is told what goes on.
        stop: ends it before the next batch.

    Raises:
        ConfigError: settings are wrong, another drain is at the path, or the group has live
            members.
        DrainError: see its message; nothing is lost or doubled by that.
        ZkConsumerError: the cluster or the group can't be reached.
    """
    options = settings.checked()
    own = drain_session(session)
    register(own)
    storage = HadoopStorage(own, settings.path)
    clock = SystemClock()
    with OpenCluster(options) as cluster:
        rows = RangeRows(own, settings.reading())
        parts = Parts(
            settings=settings,
            session=own,
            storage=storage,
            rows=rows,
            counter=RowCounter(rows, cluster.source.ends),
        )
        run = RunSettings(
            identity=settings.identity(uuid.uuid4().hex, clock.wall_ms()),
            once=settings.once,
            max_offsets=settings.max_offsets_per_batch,
            fail_on_data_loss=settings.fail_on_data_loss,
            interval_ms=settings.interval_ms,
        )
        sides = Sides(
            journal=Journal(storage),
            source=cluster.source,
            landing=landing_for(parts),
            group=cluster.group,
            stop=stop or StopFlag(),
            new_attempt=lambda: uuid.uuid4().hex,
            watch=watch or NoWatch(),
            clock=clock,
        )
        return Runner(run, sides).run()


def landing_for(parts: Parts) -> Landing:
    """The landing of the format that the settings name.

    Raises:
        ConfigError: a package that it needs is not installed.
    """
    match parts.settings.format:
        case "delta":
            from zkconsumer.drain.landing_delta import DeltaLanding  # noqa: PLC0415 - optional

            return DeltaLanding(parts.storage, _writer(parts, "parquet"), parts.settings)
        case "kafka":
            from zkconsumer.drain.mirroring.mirror import kafka_landing  # noqa: PLC0415 - loads much

            return kafka_landing(parts)
        case file_format:
            return FilesLanding(parts.storage, _writer(parts, file_format), file_format)


def _writer(parts: Parts, file_format: str) -> SparkWriter:
    return SparkWriter(parts.rows, parts.counter, parts.storage, file_format)
