"""Starts a quiet Spark session for a command, and stops it at the command's end."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from zkconsumer.drain.choosing import SparkOptions
from zkconsumer.drain.on_spark.errors import described_by_spark
from zkconsumer.spark.session import build_session, close_session


@contextmanager
def command_session(app_name: str, spark: SparkOptions) -> Iterator[SparkSession]:
    """Open a session that logs errors only; the context's end stops it.

    Args:
        app_name: the application's name.
        spark: the options of the command line for Spark.

    Raises:
        ZkConsumerError: Spark can't be started.
    """
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
        yield session
    finally:
        close_session(session)
