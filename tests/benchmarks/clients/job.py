"""What a client is asked to do, and what it reports: JSON on the command line and on stdout."""

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
    """One pass over a topic whose values all have one length.

    Attributes:
        bootstrap: the broker as ``host:port``.
        zookeeper: the connect string of its cluster.
        topic: what to read, from its first record on.
        partitions: how many it has.
        records: how many to read, over all partitions.
        value_bytes: the length of each value.
        fetch_bytes: how much of one partition to ask for at a time.
        group: a group that nobody has used.
        mode: for clients that can do it in several ways.
        settings: further ones of ours, by their dotted keys.
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
        """For the command line."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def of_command_line(cls) -> Self:
        """The job that this process was given."""
        return cls(**json.loads(sys.argv[1]))

    @property
    def address(self) -> tuple[str, int]:
        """The broker's host and port."""
        host, _, port = self.bootstrap.partition(":")
        return host, int(port)


@dataclass(slots=True)
class Stopwatch:
    """Times a pass from where it was made; made when the group is joined, or at connecting."""

    began_ns: int = field(default_factory=time.perf_counter_ns)
    began_cpu_ns: int = field(default_factory=time.process_time_ns)
    first_ns: int | None = None

    def first(self) -> None:
        """The first record is there."""
        self.first_ns = time.perf_counter_ns()

    def finish(self, records: int, value_bytes: int, **extra: object) -> None:
        """All records were read: report, with the sum of the lengths of their values."""
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
    """The most memory that this process has held, in KiB.

    Not ``ru_maxrss``: that one starts with what the parent held when it forked.
    """
    for line in Path("/proc/self/status").read_text("ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise OSError("this kernel does not report VmHWM")


def report(what: Mapping[str, object]) -> None:
    """Print a result, the last line of a client's output."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def skip(reason: str) -> NoReturn:
    """This client can't do that here: say why, and end."""
    report({"skipped": reason})
    raise SystemExit(0)


def say_ready() -> None:
    """From now on, whatever is produced will be read."""
    report({"ready": True})


def report_delays(delays_ns: Sequence[int]) -> None:
    """Tell how late each message came, in microseconds."""
    report({"delays_us": [delay // 1000 for delay in delays_ns], "peak_kb": peak_kb()})


def load_arrow() -> None:
    """Import pyarrow before the clock starts, as all else is; skip the run where it is missing."""
    try:
        import pyarrow  # noqa: F401, PLC0415 - large, and no other way needs it
    except ImportError:
        skip("pyarrow is not installed")
