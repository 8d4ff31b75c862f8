"""Runs alternating rounds of drains: in each, every landing lands the topic once, and proves it."""

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from tests.benchmarks import machine
from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.drain import metered
from tests.benchmarks.drain.landings import Landing
from tests.benchmarks.figures import Run
from tests.benchmarks.processes import ClientFailed, ClientSkipped, run
from tests.benchmarks.session import write
from tests.benchmarks.topics import TopicSpec, fill
from zkconsumer.sandbox import Sandbox

LANDED, PROVEN = "landed", "landed and proven"
_PASS_S = 3_600


@dataclass(frozen=True, slots=True)
class Used:
    """Time and memory that a program and all its descendants used.

    Attributes:
        seconds: from its start to its end.
        cpu_seconds: CPU time of all of them.
        peak_kb: the peak memory of the largest one, in KiB.
    """

    seconds: float
    cpu_seconds: float
    peak_kb: int

    def __add__(self, other: "Used") -> "Used":
        return Used(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_kb, other.peak_kb),
        )


@dataclass(slots=True)
class DrainSession:
    """Runs drains of one broker's topics.

    Attributes:
        sandbox: the broker.
        landings: the contestants.
        folder: where they land topics; the files are deleted after each pass.
        retries: how often a pass that others disturbed is repeated.
        runs: two for each recorded pass: until it was landed, and until it was proven.
        skipped: why a landing is missing, by topic and name.
    """

    sandbox: Sandbox
    landings: Sequence[Landing]
    folder: Path
    retries: int = 1
    runs: list[Run] = field(default_factory=list)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)

    def measure(self, spec: TopicSpec, rounds: int) -> None:
        """Fill the topic, and have every landing land it in rounds."""
        fill(self.sandbox, spec)
        write(f"{spec.name}: filled with {spec.records} records")
        left = list(self.landings)
        for number in range(rounds):
            first = number % max(1, len(left))
            for landing in (*left[first:], *left[:first]):
                try:
                    self._record(spec, landing, number)
                except (ClientSkipped, ClientFailed) as error:
                    left.remove(landing)
                    self.skipped[spec.name, landing.name] = str(error)
                    write(f"{spec.name}: {landing.name}: {error}")

    def _record(self, spec: TopicSpec, landing: Landing, number: int) -> None:
        for tries_left in reversed(range(1 + self.retries)):
            runs = self._pass(spec, landing, number)
            for drained in runs:
                seconds, used = drained.result.seconds, drained.result.cpu_seconds
                write(
                    f"{drained.topic}, round {number + 1}: {landing.name} {seconds:.1f} s, "
                    f"{used:.1f} CPU s, {drained.result.peak_kb / 1024:.0f} MB"
                    + " (disturbed)"
                    * drained.disturbed
                )
            if not any(drained.disturbed for drained in runs) or not tries_left:
                self.runs += runs
                return

    def _pass(self, spec: TopicSpec, landing: Landing, number: int) -> list[Run]:
        place = Path(tempfile.mkdtemp(dir=self.folder))
        expected = spec.partition_records * spec.partitions
        try:
            commands = landing.commands(self.sandbox, spec.name, place / "lake")
            before = machine.load_now(None)
            used, _ = metered_run(commands.land, commands.environ)
            landed = machine.load_now(None) - before
            if commands.prove:
                proving, proof = metered_run(commands.prove, commands.environ)
                rows = proven_rows(proof)
            else:
                proving, rows = Used(0, 0, 0), parquet_rows(place / "lake")
            proven = machine.load_now(None) - before
        finally:
            shutil.rmtree(place)
        if rows != expected:
            raise ClientFailed(f"{rows} rows are there instead of {expected}")
        return [
            Run(
                topic=f"{spec.name}, {kind}",
                contestant=landing.name,
                round=number,
                result=Pass(
                    records=expected,
                    seconds=total.seconds,
                    cpu_seconds=total.cpu_seconds,
                    peak_kb=total.peak_kb,
                ),
                value_bytes=spec.value_bytes,
                broker_cpu_seconds=max(0.0, load.ours - total.cpu_seconds),
                foreign_cpu_seconds=load.foreign,
                wall_seconds=total.seconds,
            )
            for kind, total, load in (
                (LANDED, used, landed),
                (PROVEN, used + proving, proven),
            )
        ]


def metered_run(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[Used, str]:
    """Run a program and meter it.

    Returns:
        The resources that it used, and its output.

    Raises:
        ClientFailed: it ended with an error, or not in time.
    """
    program = [sys.executable, str(metered.__file__), *argv]
    output = run(program, environ=environ, timeout_s=_PASS_S).output
    printed, _, last = output.rstrip("\n").rpartition("\n")
    found = json.loads(last)
    return Used(found["seconds"], found["cpu_seconds"], found["peak_kb"]), printed


def proven_rows(proof: str) -> int:
    """Return the number of rows that ``drain verify --json`` has proven.

    Raises:
        ClientFailed: the drain is not proven.
    """
    found = json.loads(proof)
    if found["verdict"] != "proven":
        raise ClientFailed(f"{found['verdict']}: {found['problems']} {found['open']}")
    return sum(int(partition["rows"]) for partition in found["partitions"])


def parquet_rows(folder: Path) -> int:
    """Return the number of rows in Parquet files, according to their metadata."""
    return sum(pq.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))
