"""Drain and verify on a Spark session."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from zkconsumer.drain.launch import run_drain
from zkconsumer.drain.on_spark.engine import SparkEngine
from zkconsumer.drain.protocols import StopRequest, Watch
from zkconsumer.drain.proving.proof import DrainProof
from zkconsumer.drain.proving.verify import prove
from zkconsumer.drain.runner import DrainReport
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage


def drain(
    session: SparkSession,
    settings: DrainSettings,
    *,
    watch: Watch | None = None,
    stop: StopRequest | None = None,
) -> DrainReport:
    """Land topics exactly once, then commit the group's offsets.

    It may be killed at any point: called again with the same settings, it goes on where it was.

    Args:
        session: of Spark; its settings stay as they are.
        settings: what to drain, and where to.
        watch: receives the progress.
        stop: ends it before the next batch.

    Raises:
        ConfigError: settings are wrong, another drain is at the path, or the group has live
            members.
        DrainError: see its message; nothing is lost or doubled by that.
        ZkConsumerError: the cluster or the group can't be reached.
    """
    settings.checked()
    return run_drain(SparkEngine(session), settings, watch=watch, stop=stop)


def verify(
    session: SparkSession,
    storage: Storage,
    *,
    cluster: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
) -> DrainProof:
    """Verify a whole drain.

    Args:
        session: reads the landing, and the cluster if that is given.
        storage: where the drain is.
        cluster: options of the source, to compare with the cluster, too; None not to.
        target_options: where the drain mirrors to a cluster, of Spark's Kafka source, beside the
            target's address; for a Delta table, of its storage, as ``deltalake`` takes them.

    Raises:
        DrainError: there is no drain at this path, or its own files are damaged.
        ZkConsumerError: the storage or the cluster can't be read.
    """
    engine = SparkEngine(session)
    return prove(engine, storage, cluster=cluster, target_options=target_options)
