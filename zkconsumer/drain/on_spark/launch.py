"""Drains and verifies on a Spark session."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from zkconsumer.drain.launch import run_drain
from zkconsumer.drain.on_spark.engine import SparkEngine
from zkconsumer.drain.protocols import ProgressListener, StopRequest
from zkconsumer.drain.proving.proof import DrainProof
from zkconsumer.drain.proving.verify import prove
from zkconsumer.drain.runner import DrainReport
from zkconsumer.drain.settings import DrainSettings
from zkconsumer.drain.storage import Storage


def drain(
    session: SparkSession,
    settings: DrainSettings,
    *,
    listener: ProgressListener | None = None,
    stop: StopRequest | None = None,
) -> DrainReport:
    """Land topics exactly once, then commit the group's offsets.

    The process may be killed at any point: a call with the same settings resumes.

    Args:
        session: the Spark session; its settings are not changed.
        settings: the settings of the drain.
        listener: is notified of progress.
        stop: stops the drain before the next batch.

    Raises:
        ConfigError: settings are wrong, another drain is at the path, or the group has live
            members.
        DrainError: the drain failed; no message is lost or duplicated by that.
        ZkConsumerError: the cluster or the group can't be reached.
    """
    settings.checked()
    return run_drain(SparkEngine(session), settings, listener=listener, stop=stop)


def verify(
    session: SparkSession,
    storage: Storage,
    *,
    cluster: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
) -> DrainProof:
    """Verify a whole drain.

    Args:
        session: reads the landing, and the cluster if it is given.
        storage: the drain's storage.
        cluster: options of the source, to compare with the cluster; None to skip that.
        target_options: for a mirroring drain, options of Spark's Kafka source besides the target's
            address; for a Delta table, storage options of ``deltalake``; for an Iceberg table,
            catalog properties of ``pyiceberg``.

    Raises:
        DrainError: there is no drain at this path, or its own files are damaged.
        ZkConsumerError: the storage or the cluster can't be read.
    """
    engine = SparkEngine(session)
    return prove(engine, storage, cluster=cluster, target_options=target_options)
