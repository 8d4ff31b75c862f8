"""Open the engine that a command line requests, and close it with the command."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB, EngineRequest, choose
from zkconsumer.drain.engine import DrainEngine


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """A command's options for its Spark session, if it has one.

    Attributes:
        master: of the cluster; None for what Spark is configured to, or this machine.
        settings: Spark's own.
        jars: files for the class path.
        packages: Maven coordinates.
    """

    master: str | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    jars: Sequence[str] = ()
    packages: Sequence[str] = ()


@contextmanager
def opened_engine(
    app_name: str, request: EngineRequest, spark: SparkOptions
) -> Iterator[DrainEngine]:
    """Open an engine; the context's end closes it.

    Raises:
        ConfigError: the engine can't do what is asked for, or is not installed.
        ZkConsumerError: Spark can't be started.
    """
    if choose(request, os.environ) == "local":
        from zkconsumer.drain.local.engine import LocalEngine  # noqa: PLC0415 - loads pyarrow

        yield LocalEngine(request.memory_mb or DEFAULT_MEMORY_MB)
        return
    from zkconsumer.drain.on_spark.engine import SparkEngine  # noqa: PLC0415 - loads Spark
    from zkconsumer.drain.on_spark.session import command_session  # noqa: PLC0415

    with command_session(app_name, spark) as session:
        yield SparkEngine(session)
