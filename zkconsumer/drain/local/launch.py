"""Drains and verifies in this process."""

from collections.abc import Mapping

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB
from zkconsumer.drain.launch import run_drain
from zkconsumer.drain.local.engine import LocalEngine
from zkconsumer.drain.protocols import ProgressListener, StopRequest
from zkconsumer.drain.proving.proof import DrainProof
from zkconsumer.drain.proving.verify import prove
from zkconsumer.drain.runner import DrainReport
from zkconsumer.drain.settings import DrainSettings


def drain_locally(
    settings: DrainSettings,
    *,
    memory_mb: int = DEFAULT_MEMORY_MB,
    listener: ProgressListener | None = None,
    stop: StopRequest | None = None,
) -> DrainReport:
    """Land topics exactly once, without Spark; otherwise like ``drain``.

    Args:
        settings: source, target and options.
        memory_mb: the approximate memory limit of the process.
        listener: is notified of progress.
        stop: stops the drain before the next batch.

    Raises:
        ConfigError: settings are wrong, or need Spark; another drain is at the path; or the group
            has live members.
        DrainError: the drain failed; no message is lost or duplicated by that.
        ZkConsumerError: the cluster or the group can't be reached.
    """
    settings.checked()
    return run_drain(LocalEngine(memory_mb), settings, listener=listener, stop=stop)


def verify_locally(
    path: str,
    *,
    cluster: Mapping[str, str] | None = None,
    target_options: Mapping[str, str] | None = None,
    memory_mb: int = DEFAULT_MEMORY_MB,
) -> DrainProof:
    """Verify a whole drain, without Spark; otherwise like ``verify``.

    Args:
        path: the drain's path.
        cluster: options of the source, to compare with the cluster; None to skip that.
        target_options: for a Delta table, storage options of ``deltalake``; for an Iceberg table,
            catalog properties of ``pyiceberg``.
        memory_mb: the approximate memory limit of the process.

    Raises:
        ConfigError: the drain needs Spark.
        DrainError: there is no drain at this path, or its own files are damaged.
        ZkConsumerError: the storage or the cluster can't be read.
    """
    engine = LocalEngine(memory_mb)
    storage = engine.storage(path)
    return prove(engine, storage, cluster=cluster, target_options=target_options)
