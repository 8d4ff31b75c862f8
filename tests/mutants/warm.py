"""A pytest session that has loaded all tests, and is forked for each mutant.

First it traces the lines that each test reaches; then a fork runs only tests that reach its mutant.
"""

import contextlib
import gc
import importlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import coverage
import pytest

from tests.mutants.sites import Mutant
from tests.mutants.swap import Change, Functions
from tests.mutants.trials import NotPut, Outcome, Trial, run_trials

SLOWEST = 4
"""The factor by which a trial may be slower than its tests, plus the grace period."""
GRACE_S = 20


@dataclass(slots=True)
class Reach:
    """The durations of tests and the lines that they reach.

    Attributes:
        seconds: the duration of each test.
        failed: the tests that fail without a mutant, while they are traced.
        lines: the tests that run each line of a module, by path and number.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    lines: dict[str, dict[int, list[str]]] = field(default_factory=dict)

    def add(self, file: Path) -> None:
        """Add the results that a process has written to a file."""
        reported = json.loads(file.read_text())
        self.seconds |= reported["seconds"]
        self.failed += reported["failed"]
        for path, lines in reported["lines"].items():
            of_path = self.lines.setdefault(path, {})
            for line, names in lines.items():
                of_path.setdefault(int(line), []).extend(names)

    def of_line(self, path: str, line: int, places: Sequence[str]) -> set[str]:
        """Return the tests that run a line or, if there are none, its function."""
        of_path = self.lines.get(path, {})
        exact = self._known(of_path.get(line, ()))
        if exact:
            return exact
        ranges = [range(*map(int, place.split(":")[1:3])) for place in places]
        return self._known(
            name
            for at, names in of_path.items()
            if any(at in range_ for range_ in ranges)
            for name in names
        )

    def of_module(self, path: str, top: Path) -> set[str]:
        """Return the tests that run any line of a module, or whose file imports it.

        Code that dataclasses generate has no lines in the module.
        """
        running = {name for names in self.lines.get(path, {}).values() for name in names}
        names = naming_of(path)
        files = {second.partition("::")[0] for second in self.seconds}
        naming = {file for file in files if names.search((top / file).read_text("utf-8"))}
        return self._known(running) | {
            second for second in self.seconds if second.partition("::")[0] in naming
        }

    def quickest(self, names: Iterable[str], budget_s: float) -> list[str]:
        """Return the fastest of these tests, as many as fit into the time."""
        chosen: list[str] = []
        for name in sorted(names, key=lambda name: self.seconds[name]):
            budget_s -= self.seconds[name]
            if budget_s < 0 and chosen:
                break
            chosen.append(name)
        return chosen

    def seconds_of(self, names: Iterable[str]) -> float:
        """Return the total duration of these tests."""
        return sum(self.seconds[name] for name in names)

    def _known(self, names: Iterable[str]) -> set[str]:
        """Return the tests that pass."""
        return {name for name in names if name in self.seconds}


def naming_of(path: str) -> re.Pattern[str]:
    """Return a pattern for the imports of a module, by its full name or from its package."""
    package, _, module = ".".join(Path(path).with_suffix("").parts).rpartition(".")
    whole = rf"{re.escape(package)}\.{module}\b"
    return re.compile(rf"{whole}|from {re.escape(package)} import (\([^)]*|[^\n(]*)\b{module}\b")


class Warm:
    """The plugin that runs in place of the test loop.

    Args:
        top: the top of the checkout.
        mutants: the mutants with their changes, none of which is outside functions.
        folder: the folder for traces and outcomes.
        jobs: the number of processes at a time.
        budget_s: how long the tests of one mutant may take.
        grace_s: how much longer a trial may take.
    """

    def __init__(
        self,
        top: Path,
        mutants: Sequence[tuple[Mutant, Change]],
        folder: Path,
        jobs: int,
        budget_s: float,
        grace_s: float = GRACE_S,
    ) -> None:
        self._top = top
        self._mutants = mutants
        self._folder = folder
        self._jobs = jobs
        self._budget_s = budget_s
        self._grace_s = grace_s

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, try the mutants and write the outcomes, instead of running the tests."""
        for path in {mutant.path for mutant, _ in self._mutants}:
            # Some are imported late, by the test that needs them; some lack a dependency.
            with contextlib.suppress(ImportError):
                importlib.import_module(".".join(Path(path).with_suffix("").parts))
        functions = Functions(self._top / "zkconsumer", self._top)
        gc.collect()
        gc.freeze()  # so that forks share it
        reach = self._trace_tests(session.items)
        items = {item.nodeid: item for item in session.items}
        outcomes: dict[int, Outcome] = {}

        def reported(number: int, outcome: Outcome) -> None:
            outcomes[number] = outcome
            with (self._folder / "told").open("a") as file:
                file.write(f"{outcome}: {self._mutants[number][0]}\n")

        (self._folder / "left-out").write_text("".join(f"{test}\n" for test in reach.failed))
        trials = []
        for number, (mutant, change) in enumerate(self._mutants):
            reaching = reach.of_line(mutant.path, mutant.line, change.places)
            if not reaching:
                reported(number, Outcome.UNREACHED)
                continue
            chosen = reach.quickest(reaching, self._budget_s)
            run = partial(_try, functions, mutant, change, [items[name] for name in chosen])
            trials.append(Trial(number, run, reach.seconds_of(chosen) * SLOWEST + self._grace_s))
        run_trials(trials, self._jobs, reported)
        written = {str(number): str(outcome) for number, outcome in outcomes.items()}
        (self._folder / "outcomes.json").write_text(json.dumps(written))
        return True

    def _trace_tests(self, items: Sequence[pytest.Item]) -> Reach:
        """Run every test once in forks and trace its lines; omit tests that fail."""
        trials = []
        files = []
        for part in range(self._jobs):
            file = self._folder / f"reach-{part}.json"
            files.append(file)
            run = partial(_trace, self._top, items[part :: self._jobs], file)
            trials.append(Trial(part, run, 3_600))
        ended: list[Outcome] = []
        run_trials(trials, self._jobs, lambda _, outcome: ended.append(outcome))
        if set(ended) != {Outcome.SURVIVED}:
            raise pytest.UsageError(f"the tests can't be traced: {ended}")
        reach = Reach()
        for file in files:
            reach.add(file)
        return reach


class _FailureRecorder:
    """Records whether a test fails, or ends the process at the first failure."""

    def __init__(self, *, ends: bool) -> None:
        self.failed = False
        self.started: Callable[[str], object] = lambda _name: None
        self._ends = ends

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.started(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.failed
        if report.failed and self._ends:
            os._exit(1)


def _run(
    items: Sequence[pytest.Item], folder: Path, noting: _FailureRecorder
) -> Iterable[pytest.Item]:
    """Run tests in this process, and yield each when it has ended."""
    config = items[0].config
    config.pluginmanager.register(noting)
    config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
    for item, following in zip(items, [*items[1:], None], strict=True):
        config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        yield item


def _trace(top: Path, items: Sequence[pytest.Item], file: Path, folder: Path) -> bool:
    """Run tests and write the lines that each runs and its duration to a file."""
    noting = _FailureRecorder(ends=False)
    tracer = coverage.Coverage(
        data_file=None,
        config_file=False,
        include=[f"{top}/zkconsumer/*"],
        concurrency=["thread", "greenlet"],
    )
    noting.started = tracer.switch_context
    seconds: dict[str, float] = {}
    tracer.start()
    began = time.perf_counter()
    for item in _run(items, folder, noting):
        if not noting.failed:
            seconds[item.nodeid] = round(time.perf_counter() - began, 4)
        noting.failed = False
        began = time.perf_counter()
    tracer.stop()
    data = tracer.get_data()
    lines = {
        str(Path(path).relative_to(top)): data.contexts_by_lineno(path)
        for path in data.measured_files()
    }
    failed = [item.nodeid for item in items if item.nodeid not in seconds]
    file.write_text(json.dumps({"seconds": seconds, "failed": failed, "lines": lines}))
    return True


def _try(
    functions: Functions,
    mutant: Mutant,
    change: Change,
    items: Sequence[pytest.Item],
    folder: Path,
) -> bool:
    """Apply the mutant and run the tests; return True if none fails."""
    try:
        if not functions.put(mutant.path, change):
            raise NotPut
    except ValueError as error:
        raise NotPut from error
    for _ in _run(items, folder, _FailureRecorder(ends=True)):
        pass
    return True
