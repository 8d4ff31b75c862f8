"""Defines a client's job and its report: JSON on the command line and on stdout."""

import dataclasses
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One pass over a topic whose values all have the same length.

    Attributes:
        bootstrap: the broker as ``host:port``.
        zookeeper: the connect string of its cluster.
        topic: the topic to read, from its first record on.
        partitions: the number of its partitions.
        records: the number of records to read, over all partitions.
        value_bytes: the length of each value.
        fetch_bytes: the limit of bytes per partition in a fetch.
        group: the id of a new group.
        mode: selects a mode of clients that have several.
        settings: further settings of our client, by their keys with dots.
    """

    bootstrap: str
    zookeeper: str
    topic: str
    partitions: int
    records: int
    value_bytes: int
    fetch_bytes: int
    group: str
    mode: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> str:
        """Return the job as text for the command line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of_command_line(cls) -> Self:
        """Return the job on this process's command line."""
        return cls(**json.loads(sys.argv[1]))

    @property
    def address(self) -> tuple[str, int]:
        """The broker's host and port."""
        host, _, port = self.bootstrap.partition(":")
        return host, int(port)


@dataclass(slots=True)
class Stopwatch:
    """Times a pass from its own creation on: when the group is joined, or before connecting."""

    began_ns: int = field(default_factory=time.perf_counter_ns)
    began_cpu_ns: int = field(default_factory=time.process_time_ns)
    first_ns: int | None = None

    def first(self) -> None:
        """Record that the first record has arrived."""
        self.first_ns = time.perf_counter_ns()

    def finish(self, records: int, value_bytes: int, **extra: object) -> None:
        """Report the pass, after all records were read; ``value_bytes`` is the sum of lengths."""
        seconds = (time.perf_counter_ns() - self.began_ns) / 1e9
        cpu_seconds = (time.process_time_ns() - self.began_cpu_ns) / 1e9
        first = None if self.first_ns is None else (self.first_ns - self.began_ns) / 1e6
        report(
            {
                "records": records,
                "value_bytes": value_bytes,
                "seconds": seconds,
                "cpu_seconds": cpu_seconds,
                "whole_cpu_seconds": time.process_time_ns() / 1e9,
                "peak_kb": peak_kb(),
                "first_record_ms": first,
                **extra,
            }
        )


def peak_kb() -> int:
    """Return the peak memory of this process, in KiB.

    This is not ``ru_maxrss``, which starts with the memory of the parent when it forked.
    """
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise OSError("this kernel does not report VmHWM")


def report(what: Mapping[str, object]) -> None:
    """Print a result as JSON; it must be the last line of a client's output."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def skip(reason: str) -> NoReturn:
    """Report why this client can't do its job here, and exit."""
    report({"skipped": reason})
    raise SystemExit(0)


def say_ready() -> None:
    """Report that from now on all messages produced will be read."""
    report({"ready": True})


def report_delays(delays_ns: Sequence[int]) -> None:
    """Report the delay of each message, converted to microseconds."""
    report({"delays_us": [delay // 1000 for delay in delays_ns], "peak_kb": peak_kb()})


def load_arrow() -> None:
    """Import pyarrow before the clock starts, like all else; skip the run if it is missing."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - large, and no other way needs it
    except ImportError:
        skip("pyarrow is not installed")
