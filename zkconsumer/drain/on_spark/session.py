"""The Spark session of a command: started, quiet, and stopped with it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.spark.session import build_session, close_session


@contextmanager
def command_session(
    app_name: str,
    *,
    master: str | None,
    settings: Mapping[str, str],
    jars: Sequence[str] = (),
    packages: Sequence[str] = (),
) -> Iterator[SparkSession]:
    """Open a session that logs errors only; the context's end stops it.

    Args:
        app_name: the application's name.
        master: see ``build_session``; so are the others.
        settings: Spark's own; they win over the command's.
        jars: files for the class path.
        packages: Maven coordinates.

    Raises:
        ZkConsumerError: Spark can't be started.
    """
    with described_by_spark("Spark can't be started: see --master, --conf, --jars and --package"):
        session = build_session(
            app_name,
            master=master,
            settings={"spark.ui.showConsoleProgress": "false", **settings},
            jars=[Path(jar) for jar in jars],
            packages=packages,
        )
    try:
        session.sparkContext.setLogLevel("ERROR")
        yield session
    finally:
        close_session(session)
