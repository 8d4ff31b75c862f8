"""Stores all single passes in a file, so that other figures can be computed later."""

import dataclasses
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.benchmarks.contestants.contestant import Pass
from tests.benchmarks.figures import Run
from tests.benchmarks.latency import LatencyRun
from zkconsumer.records.engine import ENGINE, WHY
from zkconsumer.version import __version__


@dataclass(slots=True)
class Results:
    """The results of a session.

    Attributes:
        machine: a description of the machine.
        labels: the contestants' labels by name.
        runs: passes at full speed.
        latency: runs at a low rate.
        skipped: why a contestant is missing, by topic and name.
    """

    machine: Mapping[str, object]
    labels: Mapping[str, str]
    runs: Sequence[Run] = ()
    latency: Sequence[LatencyRun] = ()
    skipped: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def save(self, path: Path) -> None:
        """Write the results to a file, as JSON."""
        content = {
            "machine": self.machine,
            "labels": self.labels,
            "runs": [dataclasses.asdict(run) for run in self.runs],
            "latency": [dataclasses.asdict(latency_run) for latency_run in self.latency],
            "skipped": [[*key, reason] for key, reason in self.skipped.items()],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1) + "\n", "utf-8")

    def report(self, tables: Sequence[str], path: Path) -> None:
        """Print the machine and the tables, and write them to a Markdown file."""
        machine = ", ".join(f"{key}: {value}" for key, value in self.machine.items())
        text = "\n\n".join([machine, *tables]) + "\n"
        sys.stdout.write(text)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the results that ``save`` wrote."""
        content = json.loads(path.read_text("utf-8"))
        return cls(
            content["machine"],
            content["labels"],
            [Run(**{**run, "result": Pass(**run["result"])}) for run in content["runs"]],
            [LatencyRun(**run) for run in content["latency"]],
            {(topic, name): reason for topic, name, reason in content["skipped"]},
        )


def this_machine() -> dict[str, object]:
    """Return a description of this machine and of the versions measured."""
    models = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        if line.startswith("model name")
    ]
    return {
        "processors": os.cpu_count() or 0,
        "model": models[0] if models else platform.machine(),
        "python": platform.python_version(),
        "zkconsumer": f"{__version__}, {ENGINE} engine ({WHY})",
    }
