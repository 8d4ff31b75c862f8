"""What takes part in a comparison, and what one pass of it gives."""

from dataclasses import dataclass
from typing import Protocol

from tests.benchmarks.clients.job import Job
from tests.benchmarks.processes import ClientFailed
from tests.benchmarks.topics import TopicSpec

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Where to read from."""

    bootstrap: str
    zookeeper: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass over a topic.

    Attributes:
        records: how many were read.
        seconds: from the joined group, or from connecting, to the last one.
        cpu_seconds: used meanwhile; for a JVM that ends with the pass, in its whole life.
        peak_kb: the most memory that the process held, in KiB; 0 where it is not known.
        first_record_ms: until the first one was there, from the same beginning.
        join_ms: what joining the group took before.
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
        """Short, for the command line and the JSON file."""
        ...

    @property
    def label(self) -> str:
        """For tables and charts."""
        ...

    def job(self, spec: TopicSpec, cluster: Cluster, group: str) -> Job | None:
        """What it is to read of a topic; None where it takes no part."""
        ...

    def read(self, job: Job) -> Pass:
        """One pass.

        Raises:
            ClientSkipped: it can't run here.
            ClientFailed: it did not read what it should.
        """
        ...

    def close(self) -> None:
        """End what lives on between passes."""
        ...


def checked(job: Job, response: dict[str, object], *, cpu_seconds: float, peak_kb: int) -> Pass:
    """A pass from what a client reports, if it has read all there was.

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
