"""Runs rounds over a topic that is on both brokers: in each, every source reads it once, in turn.

Each source first reads it a few times unrecorded: the speed of a long-lived session is what counts.
"""

import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.benchmarks import machine
from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.figures import Run
from tests.benchmarks.processes import ClientFailed, ClientSkipped
from tests.benchmarks.session import write
from tests.benchmarks.spark.sources import AGGREGATE, PARQUET, Source
from tests.benchmarks.topics import TopicSpec, fill
from zkconsumer.sandbox import Sandbox

KINDS = (AGGREGATE, PARQUET)
_PASS_S = 300
_MEMORY = Path("/dev/shm")


def run_name(topic: str, kind: str) -> str:
    """Return the name for ``Run.topic``: the topic, and the kind of work."""
    return f"{topic} {kind}"


@dataclass(slots=True)
class SparkSession:
    """Runs sources against two sandboxes that hold the same topics.

    Attributes:
        old: the broker that ours read from.
        new: the broker that Spark's own source reads from.
        sources: the contestants.
        retries: how often a pass that others disturbed is repeated.
        runs: all recorded runs, in order.
        skipped: why a source is missing, by ``run_name`` and the source's name.
    """

    old: Sandbox
    new: Sandbox
    sources: Sequence[Source]
    retries: int = 1
    runs: list[Run] = field(default_factory=list)
    skipped: dict[tuple[str, str], str] = field(default_factory=dict)

    def measure(self, spec: TopicSpec, *, rounds: int, warm_ups: int) -> None:
        """Fill the topic on both brokers, and have every source read it in rounds."""
        for sandbox in (self.old, self.new):
            fill(sandbox, spec)
        write(f"{spec.name}: filled twice with {spec.records} records")
        for kind in KINDS:
            taking_part = [
                source
                for source in self.sources
                if kind in source.kinds and self._warm_up(spec, source, kind, warm_ups)
            ]
            for number in range(rounds):
                first = number % max(1, len(taking_part))
                for source in (*taking_part[first:], *taking_part[:first]):
                    self._record(spec, source, kind, number)

    def _warm_up(self, spec: TopicSpec, source: Source, kind: str, times: int) -> bool:
        for number in range(times):
            run = self._read(spec, source, kind, -1)
            if run is None:
                return False
            write(f"{run.topic}, warming up {number + 1}: {source.name} {run.rate / 1e6:.3f} M/s")
        return True

    def _record(self, spec: TopicSpec, source: Source, kind: str, number: int) -> None:
        for tries_left in reversed(range(1 + self.retries)):
            run = self._read(spec, source, kind, number)
            if run is None:
                return
            mark = " (disturbed)" if run.disturbed else ""
            write(f"{run.topic}, round {number + 1}: {source.name} {run.rate / 1e6:.3f} M/s{mark}")
            if not run.disturbed or not tries_left:
                self.runs.append(run)
                return

    def _read(self, spec: TopicSpec, source: Source, kind: str, number: int) -> Run | None:
        what = run_name(spec.name, kind)
        try:
            return self._pass(spec, source, kind, number)
        except (ClientSkipped, ClientFailed) as error:
            self.skipped[what, source.name] = str(error)
            write(f"{what}: {source.name}: {error}")
            return None

    def _pass(self, spec: TopicSpec, source: Source, kind: str, number: int) -> Run:
        companion = source.engine.companion()
        sandbox = self.old if source.old else self.new
        folder = Path(tempfile.mkdtemp(dir=_MEMORY if _MEMORY.is_dir() else None))
        into = folder / "rows" if kind == PARQUET else None
        try:
            used, before = tree_seconds(companion.pid), machine.load_now(None)
            began = time.perf_counter()
            companion.request(source.request(sandbox, spec.name, into))
            response = companion.receive(_PASS_S)
            wall = time.perf_counter() - began
            load = machine.load_now(None) - before
            used = tree_seconds(companion.pid) - used
            if into is not None:
                response |= landed(into)
        finally:
            shutil.rmtree(folder)
        expected = spec.partition_records * spec.partitions
        if (response["records"], response["value_bytes"]) != (
            expected,
            expected * spec.value_bytes,
        ):
            raise ClientFailed(f"read {response} instead of {expected} records")
        return Run(
            topic=run_name(spec.name, kind),
            contestant=source.name,
            round=number,
            result=Pass(
                records=expected,
                seconds=float(str(response["seconds"])),
                cpu_seconds=used,
                peak_kb=0,  # the driver's alone would be meaningless
            ),
            value_bytes=spec.value_bytes,
            broker_cpu_seconds=max(0.0, load.ours - used),
            foreign_cpu_seconds=load.foreign,
            wall_seconds=wall,
        )


def tree_seconds(pid: int) -> float:
    """Return the CPU seconds of a process and its descendants: session, JVM and workers."""
    tree = machine.descendants(pid).values()
    return sum(process_times.cpu_seconds + process_times.waited_seconds for process_times in tree)


def landed(folder: Path) -> dict[str, object]:
    """Return the records and value bytes of a folder's Parquet files, read with another library."""
    records = value_bytes = 0
    for file in folder.glob("*.parquet"):
        values = pq.read_table(file, columns=["value"]).column("value")
        records += len(values)
        value_bytes += pc.sum(pc.binary_length(values)).as_py() or 0
    return {"records": records, "value_bytes": value_bytes}
