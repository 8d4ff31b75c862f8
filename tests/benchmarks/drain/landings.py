"""Lists the ways to land a topic, and their commands."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.drain import jvm_job
from tests.benchmarks.environments import SPARK_JVM
from tests.benchmarks.spark.sources import SETTINGS
from tests.support.spark_connector import connector_jars
from zkconsumer.sandbox import Sandbox

LOCAL, ICEBERG, SPARK, JVM = "local", "local-iceberg", "spark", "jvm"
_SPARK = {**SETTINGS, "spark.master": f"local[{os.cpu_count()}]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """The commands of one pass.

    Attributes:
        land: lands the topic.
        prove: proves it afterwards, and prints JSON; empty if there is no such command.
        environ: further environment variables of both.
    """

    land: Sequence[str]
    prove: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Landing:
    """One way to land a topic.

    Attributes:
        name: a short name, for the command line and the file of results.
        label: a description for tables.
    """

    name: str
    label: str

    def commands(self, sandbox: Sandbox, topic: str, into: Path) -> Commands:
        """Return the commands to land a topic in a folder that does not exist yet.

        Raises:
            ClientSkipped: a program that it needs can't be installed.
        """
        if self.name == JVM:
            return _jvm(sandbox, topic, into)
        zkconsumer = [sys.executable, "-m", "zkconsumer", "drain"]
        where = ["--bootstrap-servers", sandbox.bootstrap_servers, "--topics", topic]
        engine = ["--engine", "local"]
        if self.name == SPARK:
            engine = ["--engine", "spark", "--master", _SPARK["spark.master"]]
            for key, value in _SPARK.items():
                engine += ["--conf", f"{key}={value}"] if key != "spark.master" else []
        kind = ["--format", "iceberg"] if self.name == ICEBERG else []
        return Commands(
            land=[*zkconsumer, *where, "--to", str(into), *kind, *engine],
            prove=[*zkconsumer, "verify", str(into), "--json", *engine],
            environ={"SPARK_LOCAL_IP": "127.0.0.1"},
        )


def _jvm(sandbox: Sandbox, topic: str, into: Path) -> Commands:
    jars = ",".join(map(str, connector_jars()))
    requested = {
        "settings": {**_SPARK, "spark.jars": jars},
        "options": {
            "kafka.bootstrap.servers": sandbox.bootstrap_servers,
            "subscribe": topic,
            "startingOffsets": "earliest",
        },
        "into": str(into),
    }
    return Commands(
        land=[SPARK_JVM.python(), str(jvm_job.__file__), json.dumps(requested)],
        # It starts in the repository's folder, but must not import our modules from there.
        environ={"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONSAFEPATH": "1"},
    )


def all_landings() -> tuple[Landing, ...]:
    """Return all landings, in the order of the tables."""
    return (
        Landing(JVM, "Spark's Kafka source to Parquet, not proven"),
        Landing(SPARK, "drain --engine spark"),
        Landing(LOCAL, "drain --engine local"),
        Landing(ICEBERG, "drain --engine local --format iceberg"),
    )
