"""Runs contestants that are programs in Python: ours, the raw fetch, and other people's clients."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.benchmarks.clients.job import Job
from tests.benchmarks.contestants.contestant import MEGABYTE, Cluster, Pass, checked
from tests.benchmarks.environments import Environment
from tests.benchmarks.processes import Companion, last_response, run
from tests.benchmarks.topics import TopicSpec
from zkconsumer.records.codecs import Codec


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A module of ``clients``, run in a new process for every pass.

    Attributes:
        name: see ``Contestant``.
        label: see ``Contestant``.
        module: the module's name in ``clients``.
        mode: see ``Job``.
        environment: the environment that it runs in; None for our own.
        environ: further environment variables.
        fetch_bytes: see ``Job``.
        settings: see ``Job``.
        share: the share of the topic's records that it reads: slow clients read fewer.
        codecs: the codecs that it can read.
        lives_on: see ``Listener``; False, as every job has its own process.
    """

    name: str
    label: str
    module: str
    mode: str = ""
    environment: Environment | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    fetch_bytes: int = MEGABYTE
    settings: Mapping[str, str] = field(default_factory=dict)
    share: float = 1.0
    codecs: frozenset[Codec] = frozenset(Codec)
    lives_on: bool = False

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """See ``Contestant``."""
        if spec.codec not in self.codecs:
            return None
        return Job(
            bootstrap=cluster.bootstrap,
            zookeeper=cluster.zookeeper,
            topic=spec.name,
            partitions=spec.partitions,
            records=max(1, int(spec.partition_records * spec.partitions * self.share)),
            value_bytes=spec.value_bytes,
            fetch_bytes=self.fetch_bytes,
            group=group,
            mode=self.mode,
            settings=self.settings,
        )

    def read(self, job: Job) -> Pass:
        """See ``Contestant``."""
        response = last_response(run(self._argv(job), environ=self.environ).output)
        return checked(
            job,
            response,
            cpu_seconds=float(str(response["cpu_seconds"])),
            peak_kb=int(str(response["peak_kb"])),
        )

    def start(self, job: Job) -> Companion:
        """Start a job that needs others while it runs, such as one about delays."""
        return Companion(self._argv(job), environ=self.environ)

    def close(self) -> None:
        """Do nothing: no process outlives its pass."""

    def _argv(self, job: Job) -> list[str]:
        python = self.environment.python() if self.environment else sys.executable
        return [python, "-m", f"tests.benchmarks.clients.{self.module}", job.as_json()]
