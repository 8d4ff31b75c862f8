"""Runs alternating rounds: in each, every contestant reads the topic once, in rotated order.

Before the first round every contestant reads it once, unrecorded. A pass that other processes
disturbed is repeated a few times; if the last one is still disturbed, it counts, and is marked.
"""

import os
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.benchmarks import machine
from tests.benchmarks.clients.job import Job
from tests.benchmarks.contestants.contestant import Cluster, Contestant, Pass
from tests.benchmarks.figures import Run
from tests.benchmarks.processes import ClientFailed, ClientSkipped
from tests.benchmarks.topics import TopicSpec, fill
from zkconsumer.sandbox import Sandbox

KAFKA = "0.8.2.2"


@contextmanager
def running_sandbox(kafka: str = KAFKA) -> Iterator[Sandbox]:
    """Run a broker with the JVM flags of a server: the sandbox's own ones favour a quick start."""
    sandbox = Sandbox(kafka=kafka, brokers=1, heap_mb=1024)
    os.environ["_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=4"  # overrides the command line
    try:
        sandbox.start()
    finally:
        del os.environ["_JAVA_OPTIONS"]
    try:
        yield sandbox
    finally:
        sandbox.close()


@dataclass(slots=True)
class Session:
    """Runs contestants against one sandbox.

    Attributes:
        runs: all recorded runs, in order.
        skipped: why a contestant is missing, by topic and name.
    """

    sandbox: Sandbox
    contestants: Sequence[Contestant]
    retries: int = 2
    runs: list[Run] = field(default_factory=list)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)
    _broker_pid: int | None = None

    @property
    def cluster(self) -> Cluster:
        """The addresses of the sandbox."""
        return Cluster(
            bootstrap=self.sandbox.bootstrap_servers, zookeeper=self.sandbox.zookeeper_connect
        )

    def measure(self, spec: TopicSpec, rounds: int) -> None:
        """Fill a topic, and have every contestant read it in rounds."""
        began = time.perf_counter()
        fill(self.sandbox, spec)
        write(
            f"{spec.name}: {spec.records} records produced in {time.perf_counter() - began:.1f} s"
        )
        self._broker_pid = machine.find_descendant(os.getpid(), "kafka.Kafka")
        taking_part = [
            contestant for contestant in self.contestants if self._warm_up(spec, contestant)
        ]
        for number in range(rounds):
            first = number % max(1, len(taking_part))
            for contestant in (*taking_part[first:], *taking_part[:first]):
                self._record(spec, contestant, number)

    def _warm_up(self, spec: TopicSpec, contestant: Contestant) -> bool:
        job = contestant.job(spec, self.cluster, fresh_group())
        if job is None:
            return False
        return self._read(spec, contestant, job) is not None

    def _record(self, spec: TopicSpec, contestant: Contestant, number: int) -> None:
        for tries_left in reversed(range(1 + self.retries)):
            job = contestant.job(spec, self.cluster, fresh_group())
            assert job is not None
            before, began = machine.load_now(self._broker_pid), time.perf_counter()
            result = self._read(spec, contestant, job)
            load = machine.load_now(self._broker_pid) - before
            if result is None:
                return
            run = Run(
                topic=spec.name,
                contestant=contestant.name,
                round=number,
                result=result,
                value_bytes=spec.value_bytes,
                broker_cpu_seconds=load.broker,
                foreign_cpu_seconds=load.foreign,
                wall_seconds=time.perf_counter() - began,
            )
            mark = " (disturbed)" if run.disturbed else ""
            write(
                f"{spec.name}, round {number + 1}: {contestant.name} {run.rate / 1e6:.3f} M/s{mark}"
            )
            if not run.disturbed or not tries_left:
                self.runs.append(run)
                return

    def _read(self, spec: TopicSpec, contestant: Contestant, job: Job) -> Pass | None:
        try:
            return contestant.read(job)
        except (ClientSkipped, ClientFailed) as error:
            self.leave_out(spec.name, contestant.name, error)
            return None

    def leave_out(self, topic: str, name: str, error: ClientSkipped | ClientFailed) -> None:
        """Record and print why a contestant is missing."""
        reason = str(error) if isinstance(error, ClientSkipped) else f"failed: {error}"
        self.skipped[topic, name] = reason
        write(f"{topic}: {name}: {reason}")


def write(line: str) -> None:
    """Print a line about the progress."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def fresh_group() -> str:
    """Return the id of a new group."""
    return f"bench-{uuid.uuid4().hex[:10]}"
