"""Shows a drain's progress: a bar on a terminal, or lines without ``rich``; JSON for programs."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from io import FileIO, RawIOBase
from typing import TYPE_CHECKING, TextIO

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, Positions
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.drain.runner import DrainReport

if TYPE_CHECKING:
    from rich.progress import Progress


@dataclass(frozen=True, slots=True)
class DrainPace:
    """The throughput of a run, between two batches.

    Attributes:
        landed: the number of offsets that this run has landed.
        lag: the number of offsets that are still to be landed; None before the cluster was read.
        elapsed_ms: the time since the run began.
    """

    landed: int
    lag: int | None
    elapsed_ms: int

    @property
    def per_second(self) -> float:
        """The average number of offsets per second; 0 before anything is landed."""
        return self.landed * 1000 / self.elapsed_ms if self.elapsed_ms > 0 else 0.0

    @property
    def left_s(self) -> float | None:
        """The seconds until the lag is gone at this pace; None if unknown."""
        if self.lag is None or self.per_second == 0:
            return None
        return self.lag / self.per_second

    def __str__(self) -> str:
        text = f"{self.landed:,} landed, {self.per_second:,.0f}/s"
        if self.lag is not None:
            text += f", lag {self.lag:,}"
        return text if self.left_s is None else f"{text}, {duration(self.left_s)} left"


def duration(seconds: float) -> str:
    """Format a duration: ``45 s``, ``12 min``, ``3 h 20 min``."""
    minutes = round(seconds / 60)
    if seconds < 100:
        return f"{seconds:.0f} s"
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


class MeteredProgress(ProgressListener):
    """Computes the pace of a run; a subclass shows it.

    Args:
        clock: measures the pace.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._began_ms = self._clock.now_ms()
        self._landed = 0
        self._until: Positions | None = None

    def show(self, pace: DrainPace, batch: int | None = None, rows: int = 0) -> None:
        """Show the pace after a read of the cluster, or after a batch of this number and size."""
        raise NotImplementedError

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """See ``ProgressListener``."""
        self._until = until
        self.show(self._pace(positions))

    def on_landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """See ``ProgressListener``."""
        self._landed += sum(wanted.count for wanted in plan.ranges)
        self.show(self._pace(plan.after()), plan.number, manifest.rows)

    def _pace(self, positions: Positions) -> DrainPace:
        lag = None
        if self._until is not None:
            lag = sum(max(0, end - positions.get(tp, 0)) for tp, end in self._until.items())
        return DrainPace(self._landed, lag, self._clock.now_ms() - self._began_ms)


class LoggedProgress(MeteredProgress):
    """Prints a line for every batch."""

    def __init__(self, out: TextIO) -> None:
        super().__init__()
        self._out = out

    def show(self, pace: DrainPace, batch: int | None = None, rows: int = 0) -> None:
        """See ``MeteredProgress``."""
        if batch is not None:
            self._out.write(f"batch {batch}: {rows:,} messages; {pace}\n")
            self._out.flush()


class JsonProgress(MeteredProgress):
    """Prints one JSON object per line, after each read of the cluster and after every batch.

    If the reader of the lines exits, the drain continues.
    """

    def __init__(self, out: RawIOBase, clock: Clock | None = None) -> None:
        super().__init__(clock)
        self._out = out

    def show(self, pace: DrainPace, batch: int | None = None, rows: int = 0) -> None:
        """See ``MeteredProgress``."""
        # A batch of a killed run is finished before the cluster is read: its lag is unknown.
        lag = {} if pace.lag is None else {"lag": pace.lag}
        done = {} if batch is None else {"batch": batch, "rows": rows}
        self._print(ended=False, landed=pace.landed, **lag, running_ms=pace.elapsed_ms, **done)

    def ended(self, path: str, report: DrainReport) -> None:
        """Print the result of the whole run."""
        self._print(
            ended=True,
            path=path,
            finished=report.finished,
            batches=report.batches,
            rows=report.rows,
            dead_lettered=report.dead_lettered,
            expired=sum(offsets.count for offsets in report.expired),
        )

    def _print(self, **fields: object) -> None:
        line = json.dumps(fields, separators=(",", ":")) + "\n"
        with suppress(OSError):
            self._out.write(line.encode())


def json_lines() -> JsonProgress:
    """Return a printer of JSON to standard output, unbuffered, so that no line is partial."""
    sys.stdout.flush()
    return JsonProgress(FileIO(sys.stdout.fileno(), "w", closefd=False))


class BarProgress(MeteredProgress):
    """Shows a bar that grows with every batch.

    Args:
        progress: the progress bar of ``rich``; started and stopped by the caller.
    """

    def __init__(self, progress: "Progress") -> None:
        super().__init__()
        self._progress = progress
        self._task = progress.add_task("reading the cluster", total=None, pace="")

    def on_landing(self, plan: BatchPlan) -> None:
        """See ``ProgressListener``."""
        count = sum(wanted.count for wanted in plan.ranges)
        self._progress.update(self._task, description=f"batch {plan.number}: {count:,} offsets")

    def show(self, pace: DrainPace, batch: int | None = None, rows: int = 0) -> None:
        """See ``MeteredProgress``."""
        text = "everything is landed" if batch is None else f"batch {batch}: {rows:,} messages"
        self._progress.update(
            self._task,
            completed=pace.landed,
            total=None if pace.lag is None else pace.landed + pace.lag,
            description=text,
            pace=str(pace),
        )


@contextmanager
def shown(out: TextIO | None = None) -> Iterator[ProgressListener]:
    """Yield a progress display on ``out``; a silent one if it is not a terminal."""
    out = out or sys.stderr
    if not out.isatty():
        yield ProgressListener()
    elif find_spec("rich") is None:
        yield LoggedProgress(out)
    else:
        with _bar(out) as progress:
            yield BarProgress(progress)


def _bar(out: TextIO) -> "Progress":
    from rich.console import Console  # noqa: PLC0415 - optional
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[pace]}"),
        console=Console(file=out),
    )
