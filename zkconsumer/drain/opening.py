"""Opens the engine that a command line requests, and closes it with the command."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zkconsumer.drain.choosing import DEFAULT_MEMORY_MB, EngineRequest, choose
from zkconsumer.drain.engine import DrainEngine


@contextmanager
def opened_engine(app_name: str, request: EngineRequest) -> Iterator[DrainEngine]:
    """Open an engine; the context's end closes it. Spark logs errors only.

    Raises:
        ConfigError: the engine can't run the command, or is not installed.
        ZkConsumerError: Spark can't be started.
    """
    if choose(request, os.environ) == "local":
        from zkconsumer.drain.local.engine import LocalEngine  # noqa: PLC0415 - loads pyarrow

        yield LocalEngine(request.memory_mb or DEFAULT_MEMORY_MB)
        return
    from zkconsumer.drain.on_spark.engine import SparkEngine  # noqa: PLC0415 - loads Spark
    from zkconsumer.drain.on_spark.errors import described_by_spark  # noqa: PLC0415
    from zkconsumer.spark.session import build_session, close_session  # noqa: PLC0415

    spark = request.spark
    with described_by_spark("Spark can't be started: see --master, --conf, --jars and --package"):
        session = build_session(
            app_name,
            master=spark.master,
            settings={"spark.ui.showConsoleProgress": "false", **spark.settings},
            jars=[Path(jar) for jar in spark.jars],
            packages=spark.packages,
        )
    try:
        session.sparkContext.setLogLevel("ERROR")
        yield SparkEngine(session)
    finally:
        close_session(session)
