"""Runs the original: its tool in a new JVM for each pass, and its consumer in a long-lived JVM."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks import clients
from tests.benchmarks.clients.job import Job
from tests.benchmarks.contestants.contestant import MEGABYTE, Cluster, Pass, checked
from tests.benchmarks.processes import ClientFailed, ClientSkipped, Companion, run
from tests.benchmarks.topics import TopicSpec
from tests.golden.jvm import no_compiler_because
from zkconsumer.sandbox import jars
from zkconsumer.sandbox.java import find_java

KAFKA = "0.8.2.2"
_TOOL = "kafka.tools.ConsumerPerformance"
_CLIENTS = Path(clients.__file__).parent
_SOURCE = _CLIENTS / "ScalaConsumer.java"
_LOG4J = _CLIENTS / "log4j.properties"
_COLUMNS = 7  # start, end, fetch size, MB, MB/s, messages, messages/s


def java_argv() -> list[str]:
    """Return the original's JVM command line, without the garbage collector that Java dropped.

    The flags of the sandbox's tools would distort the comparison: they are for a quick start, with
    a compiler that optimises little.
    """
    class_path = os.pathsep.join(map(str, jars.class_path(KAFKA)))
    logging = f"-Dlog4j.configuration={_LOG4J.as_uri()}"
    return [str(find_java(os.environ)), "-server", "-Xmx512m", logging, "-cp", class_path]


def whole_topic(spec: TopicSpec, cluster: Cluster, group: str) -> Job:
    """Return a job for the whole topic: the tool's rate is correct only then."""
    return Job(
        bootstrap=cluster.bootstrap,
        zookeeper=cluster.zookeeper,
        topic=spec.name,
        partitions=spec.partitions,
        records=spec.partition_records * spec.partitions,
        value_bytes=spec.value_bytes,
        fetch_bytes=MEGABYTE,
        group=group,
    )


@dataclass(frozen=True, slots=True)
class ScalaTool:
    """``ConsumerPerformance`` unchanged, with one thread; each pass is a new JVM.

    At the end it waits five seconds for more records, and excludes that time from its own figure.
    """

    name: str = "scala"
    label: str = "Scala ConsumerPerformance, 1 thread"

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """See ``Contestant``."""
        return whole_topic(spec, cluster, group)

    def read(self, job: Job) -> Pass:
        """See ``Contestant``."""
        ended = run(
            [
                *java_argv(),
                _TOOL,
                *("--zookeeper", job.zookeeper),
                *("--topic", job.topic),
                *("--group", job.group),
                *("--messages", str(job.records)),
                *("--threads", "1"),
                "--hide-header",
            ]
        )
        lines = [line for line in ended.output.splitlines() if line.count(",") == _COLUMNS - 1]
        if not lines:
            raise ClientFailed(f"{_TOOL} printed no figures: {ended.output[-300:]!r}")
        columns = lines[-1].split(", ")
        records, rate = int(columns[5]), float(columns[6])
        response: dict[str, object] = {
            "records": records,
            "value_bytes": _whole_bytes(float(columns[3]), records * job.value_bytes),
            "seconds": records / rate,
        }
        return checked(job, response, cpu_seconds=ended.cpu_seconds, peak_kb=ended.peak_kb)

    def close(self) -> None:
        """Do nothing: no process outlives its pass."""


def _whole_bytes(megabytes: float, expected: int) -> int:
    """Return the sum of lengths in bytes; the tool prints megabytes with four decimals."""
    fits = abs(megabytes - expected / MEGABYTE) < 0.0001
    return expected if fits else round(megabytes * MEGABYTE)


@dataclass(slots=True)
class WarmScala:
    """The same as the tool does, in one JVM for all passes over all topics."""

    name: str = "scala-warm"
    label: str = "Scala consumer in a warm JVM"
    lives_on: bool = True
    _companions: dict[str, Companion] = field(default_factory=dict)

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """See ``Contestant``."""
        return whole_topic(spec, cluster, group)

    def read(self, job: Job) -> Pass:
        """See ``Contestant``."""
        companion = self._companion(job)
        companion.request(f"read {job.group} {job.topic} {job.records}")
        response = companion.receive()
        return checked(
            job,
            response,
            cpu_seconds=float(str(response["cpu_seconds"])),
            peak_kb=companion.peak_kb,
        )

    def start(self, job: Job) -> Companion:
        """Start a job about delays in the long-lived JVM."""
        companion = self._companion(job)
        companion.request(f"latency {job.group} {job.topic}")
        return companion

    def close(self) -> None:
        """See ``Contestant``."""
        for companion in self._companions.values():
            companion.close()
        self._companions.clear()

    def _companion(self, job: Job) -> Companion:
        reason = no_compiler_because()
        if reason is not None:
            raise ClientSkipped(reason)
        companion = self._companions.get(job.zookeeper)
        if companion is None:
            companion = Companion([*java_argv(), str(_SOURCE), job.zookeeper, str(job.fetch_bytes)])
            self._companions[job.zookeeper] = companion
            companion.receive()
        return companion
