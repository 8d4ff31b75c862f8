"""A lane repeats tests that failed in parallel alone, and reports them."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.lane import MAX_REPEATED, report_repeated, run_lane


class Runs:
    """Stand in for pytest's runs, with given exit statuses; the first one fails these tests."""

    def __init__(
        self, folder: Path, statuses: Sequence[int], failed: Sequence[str], report: str = "<a/>"
    ) -> None:
        self.arguments: list[list[str]] = []
        self._report = report
        self._statuses = list(statuses)
        self._failed = failed
        self._cache = folder / "broker/v/cache"

    def __call__(self, arguments: Sequence[str]) -> int:
        if not self.arguments and self._failed:
            self._cache.mkdir(parents=True)
            text = json.dumps(dict.fromkeys(self._failed, True))
            (self._cache / "lastfailed").write_text(text, encoding="utf-8")
        self.arguments.append(list(arguments))
        for argument in arguments:
            if argument.startswith("--junitxml="):
                Path(argument.partition("=")[2]).write_text(self._report, encoding="utf-8")
        return self._statuses.pop(0)


def test_a_lane_that_passes_runs_once(tmp_path: Path) -> None:
    """A lane that passes is run once."""
    runs = Runs(tmp_path, [0], [])
    assert run_lane("broker", ["-q", "-n", "3"], run_pytest=runs, folder=tmp_path) == 0
    assert runs.arguments == [["-q", "-n", "3", "-o", f"cache_dir={tmp_path}/broker"]]


def test_what_failed_beside_others_and_passes_alone_is_reported(tmp_path: Path) -> None:
    """Tests that pass when repeated alone are named, at the repetition and after all lanes."""
    runs, lines = Runs(tmp_path, [1, 0], ["tests/a.py::one[x y]", "tests/b.py::two"]), list[str]()
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path, report=lines.append) == 0
    assert runs.arguments[1][1:3] == ["tests/a.py::one[x y]", "tests/b.py::two"]
    report_repeated(tmp_path, lines.append)
    assert lines == [
        "broker: repeated with nothing beside them: tests/a.py::one[x y], tests/b.py::two",
        "broker: failed beside others and passed alone: tests/a.py::one[x y]",
        "broker: failed beside others and passed alone: tests/b.py::two",
    ]


def test_what_fails_alone_too_fails_the_lane(tmp_path: Path) -> None:
    """A test that fails again when alone fails the lane."""
    runs, lines = Runs(tmp_path, [1, 1], ["tests/a.py::one"]), list[str]()
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == 1
    report_repeated(tmp_path, lines.append)
    assert lines == []


def test_what_is_skipped_alone_fails_the_lane(tmp_path: Path) -> None:
    """A test that is skipped in the repetition has not passed, and fails the lane."""
    report = "<testsuites><testsuite><testcase><skipped/></testcase></testsuite></testsuites>"
    runs = Runs(tmp_path, [1, 0], ["tests/a.py::one"], report)
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == 1
    lines: list[str] = []
    report_repeated(tmp_path, lines.append)
    assert lines == []


@pytest.mark.parametrize(
    ("status", "failures"),
    [(1, MAX_REPEATED + 1), (1, 0), (2, 1), (5, 0)],
    ids=["too many", "none that is known", "interrupted", "no tests"],
)
def test_nothing_else_is_repeated(tmp_path: Path, status: int, failures: int) -> None:
    """Nothing is repeated after too many failures, an interruption or no tests at all."""
    runs = Runs(tmp_path, [status], [f"tests/a.py::test_{number}" for number in range(failures)])
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == status
    assert len(runs.arguments) == 1


def test_the_outcome_of_a_former_run_is_forgotten(tmp_path: Path) -> None:
    """Each run of a lane reports only its own repetitions."""
    first = Runs(tmp_path, [1, 0], ["tests/a.py::one"])
    run_lane("broker", [], run_pytest=first, folder=tmp_path)
    assert run_lane("broker", [], run_pytest=Runs(tmp_path, [0], []), folder=tmp_path) == 0
    lines: list[str] = []
    report_repeated(tmp_path, lines.append)
    assert lines == []
