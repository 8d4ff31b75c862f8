"""A lane repeats alone what failed beside others, and says so."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.lane import AT_MOST, run_lane, tell_repeated


class Runs:
    """Pytest's runs, with the exit statuses given and the failures of the first."""

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
    """There is nothing to repeat."""
    runs = Runs(tmp_path, [0], [])
    assert run_lane("broker", ["-q", "-n", "3"], run_pytest=runs, folder=tmp_path) == 0
    assert runs.arguments == [["-q", "-n", "3", "-o", f"cache_dir={tmp_path}/broker"]]


def test_what_failed_beside_others_and_passes_alone_is_told(tmp_path: Path) -> None:
    """By name, when it is repeated and at the end of all lanes."""
    runs, said = Runs(tmp_path, [1, 0], ["tests/a.py::one[x y]", "tests/b.py::two"]), list[str]()
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path, say=said.append) == 0
    assert runs.arguments[1][1:3] == ["tests/a.py::one[x y]", "tests/b.py::two"]
    tell_repeated(tmp_path, said.append)
    assert said == [
        "broker: repeated with nothing beside them: tests/a.py::one[x y], tests/b.py::two",
        "broker: failed beside others and passed alone: tests/a.py::one[x y]",
        "broker: failed beside others and passed alone: tests/b.py::two",
    ]


def test_what_fails_alone_too_fails_the_lane(tmp_path: Path) -> None:
    """It was no chance."""
    runs, said = Runs(tmp_path, [1, 1], ["tests/a.py::one"]), list[str]()
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == 1
    tell_repeated(tmp_path, said.append)
    assert said == []


def test_what_is_skipped_alone_fails_the_lane(tmp_path: Path) -> None:
    """It has not passed."""
    report = "<testsuites><testsuite><testcase><skipped/></testcase></testsuite></testsuites>"
    runs = Runs(tmp_path, [1, 0], ["tests/a.py::one"], report)
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == 1
    said: list[str] = []
    tell_repeated(tmp_path, said.append)
    assert said == []


@pytest.mark.parametrize(
    ("status", "failures"),
    [(1, AT_MOST + 1), (1, 0), (2, 1), (5, 0)],
    ids=["too many", "none that is known", "interrupted", "no tests"],
)
def test_nothing_else_is_repeated(tmp_path: Path, status: int, failures: int) -> None:
    """The lane ends as the first run did."""
    runs = Runs(tmp_path, [status], [f"tests/a.py::test_{number}" for number in range(failures)])
    assert run_lane("broker", [], run_pytest=runs, folder=tmp_path) == status
    assert len(runs.arguments) == 1


def test_the_outcome_of_a_former_run_is_forgotten(tmp_path: Path) -> None:
    """Each run of a lane tells of itself alone."""
    first = Runs(tmp_path, [1, 0], ["tests/a.py::one"])
    run_lane("broker", [], run_pytest=first, folder=tmp_path)
    assert run_lane("broker", [], run_pytest=Runs(tmp_path, [0], []), folder=tmp_path) == 0
    said: list[str] = []
    tell_repeated(tmp_path, said.append)
    assert said == []
