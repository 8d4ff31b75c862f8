"""Defines a contestant of a comparison, and the result of one of its passes."""

from dataclasses import dataclass
from typing import Protocol

from tests.benchmarks.clients.job import Job
from tests.benchmarks.processes import ClientFailed
from tests.benchmarks.topics import TopicSpec

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The addresses of the cluster to read from: bootstrap servers and ZooKeeper."""

    bootstrap: str
    zookeeper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """The result of one pass over a topic.

    Attributes:
        records: the number of records read.
        seconds: from the joined group, or from connecting, to the last record.
        cpu_seconds: CPU time used meanwhile; for a JVM that ends with the pass, in its whole life.
        peak_kb: the peak memory of the process, in KiB; 0 if unknown.
        first_record_ms: from the same start to the first record; None if unknown.
        join_ms: the time to join the group before; None if unknown.
    """

    records: int
    seconds: float
    cpu_seconds: float
    peak_kb: int
    first_record_ms: float | None = None
    join_ms: float | None = None


class Contestant(Protocol):
    """One way to read a topic."""

    @property
    def name(self) -> str:
        """A short name, for the command line and the JSON file."""
        ...

    @property
    def label(self) -> str:
        """A description for tables and charts."""
        ...

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """Return its job with a topic; None if it can't read that topic."""
        ...

    def read(self, job: Job) -> Pass:
        """Run one pass.

        Raises:
            ClientSkipped: it can't run here.
            ClientFailed: it did not read all that the job requires.
        """
        ...

    def close(self) -> None:
        """End its processes that keep running between passes."""
        ...


def checked(job: Job, response: dict[str, object], *, cpu_seconds: float, peak_kb: int) -> Pass:
    """Return the pass that a client reports, after checking that it has read everything.

    Raises:
        ClientFailed: the number of records or the sum of their lengths is wrong.
    """
    records, value_bytes = _number(response, "records"), _number(response, "value_bytes")
    if records < job.records or value_bytes != records * job.value_bytes:
        raise ClientFailed(
            f"read {records:g} records with {value_bytes:g} bytes instead of {job.records} with "
            f"{job.value_bytes} each"
        )
    first, join = response.get("first_record_ms"), response.get("join_ms")
    return Pass(
        records=int(records),
        seconds=_number(response, "seconds"),
        cpu_seconds=cpu_seconds,
        peak_kb=peak_kb,
        first_record_ms=first if isinstance(first, float) else None,
        join_ms=join if isinstance(join, float) else None,
    )


def _number(response: dict[str, object], name: str) -> float:
    value = response.get(name)
    if not isinstance(value, int | float):
        raise ClientFailed(f"its response lacks {name}: {response}")
    return value
