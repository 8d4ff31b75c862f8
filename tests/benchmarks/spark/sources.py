"""Lists the sources that are compared, with their requests and the sessions that they run in."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.environments import SPARK_JVM, Environment, OlderSpark
from tests.benchmarks.processes import ClientFailed, ClientSkipped, Companion
from tests.benchmarks.spark import client
from tests.support.spark_connector import connector_jars
from zkconsumer.sandbox import Sandbox

OURS, OURS_VALUES, MAPPED = "zkconsumer", "zkconsumer-values", "zkconsumer-3.5"
JVM, JVM_TUNED = "jvm", "jvm-tuned"
AGGREGATE, PARQUET = "aggregate", "parquet"
_START_S = 180
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
}


@dataclass(slots=True)
class Engine:
    """A long-lived Spark session of local[2].

    Attributes:
        environment: the environment that it runs in; None for our own, ``OlderSpark`` for our own
            with another Spark.
        jars: jar files for its class path.
        register: a module with a ``DefaultSource`` to register; empty for none.
    """

    environment: Environment | OlderSpark | None = None
    jars: tuple[Path, ...] = ()
    register: str = ""
    _companion: Companion | None = None

    def companion(self) -> Companion:
        """Return the session's process; start it at the first call.

        Raises:
            ClientSkipped: its environment can't be made.
            ClientFailed: it does not start.
        """
        if self._companion is None:
            settings = SETTINGS | (
                {"spark.jars": ",".join(map(str, self.jars))} if self.jars else {}
            )
            requested = json.dumps({"settings": settings, "register": self.register})
            companion = Companion([*self._program(), requested], environ=self._environ())
            self._companion = companion
            try:
                companion.receive(_START_S)
            except (ClientFailed, ClientSkipped):
                self.close()
                raise
        return self._companion

    def _program(self) -> list[str]:
        if self.environment is None:
            return [sys.executable, "-m", client.__name__]
        if isinstance(self.environment, OlderSpark):
            return [self.environment.python(), "-m", client.__name__]
        return [self.environment.python(), str(client.__file__)]

    def _environ(self) -> dict[str, str]:
        environ = {"SPARK_LOCAL_IP": "127.0.0.1"}
        if isinstance(self.environment, Environment):
            # It starts in the repository's folder, but must not import our modules from there.
            environ["PYTHONSAFEPATH"] = "1"
        return environ

    def close(self) -> None:
        """End the session."""
        if self._companion is not None:
            self._companion.close()
            self._companion = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One way to read a topic with Spark.

    Attributes:
        name: a short name, for the command line and the file of results.
        label: a description for tables.
        engine: the session that it runs in.
        format: its name in Spark.
        old: whether it reads from the old broker, instead of the modern one.
        options: further options besides the broker and the topic.
        columns: the schema to request; empty for all columns.
        kinds: the kinds of work that it takes part in.
    """

    name: str
    label: str
    engine: Engine
    format: str
    old: bool
    options: Mapping[str, str] = field(default_factory=dict)
    columns: str = ""
    kinds: tuple[str, ...] = (AGGREGATE, PARQUET)

    def request(self, sandbox: Sandbox, topic: str, into: Path | None) -> str:
        """Return a request for ``client``: to write ``into`` a folder; None: to aggregate."""
        options = {
            "kafka.bootstrap.servers": sandbox.bootstrap_servers,
            "subscribe": topic,
            **self.options,
        }
        return json.dumps(
            {
                "format": self.format,
                "options": options,
                "columns": self.columns,
                "into": str(into) if into is not None else "",
            }
        )


def all_sources() -> tuple[Source, ...]:
    """Return all sources, in the order of the tables."""
    ours = Engine(register="pyspark_zkconsumer")
    older = Engine(environment=OlderSpark("3.5"))
    theirs = Engine(environment=SPARK_JVM, jars=tuple(connector_jars()))
    return (
        Source(
            name=JVM,
            label="Spark's Kafka source",
            engine=theirs,
            format="kafka",
            old=False,
        ),
        Source(
            name=JVM_TUNED,
            label="Spark's Kafka source, larger fetches",
            engine=theirs,
            format="kafka",
            old=False,
            options={
                "kafka.max.poll.records": "10000",
                "kafka.max.partition.fetch.bytes": "4194304",
                "kafka.receive.buffer.bytes": "2097152",
            },
            kinds=(AGGREGATE,),
        ),
        Source(name=OURS, label="zkconsumer", engine=ours, format="zkconsumer", old=True),
        Source(
            name=OURS_VALUES,
            label="zkconsumer, only the column that is needed",
            engine=ours,
            format="zkconsumer",
            old=True,
            columns="value binary",
            kinds=(AGGREGATE,),
        ),
        Source(
            name=MAPPED,
            label="zkconsumer.spark.read on Spark 3.5",
            engine=older,
            format=client.BY_FUNCTION,
            old=True,
        ),
    )
