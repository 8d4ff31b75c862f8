"""Mutants are applied in a process that has loaded everything, and tests detect them."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.mutants.plan import TOP, UNIT_MARKS, Plan
from tests.mutants.sites import Module, Mutant
from tests.mutants.swap import Functions, MutantFinder, change_between
from tests.mutants.trials import NotPut, Outcome, Trial, run_trials
from tests.mutants.warm import Reach

OLD = """
STEP = 1


def outer(a):
    def inner(b):
        return a + b

    return inner(STEP)


def other():
    return [n for n in range(3)]
"""


def test_a_change_names_the_innermost_function_and_those_around_it() -> None:
    """Lines may move; changes outside functions are distinguished."""
    change = change_between("m.py", OLD, OLD.replace("a + b", "a\\\n - b"))
    assert change.places == ["m.py:7:8:outer.<locals>.inner"]
    assert [code.co_name for code in change.codes] == ["inner", "outer"]
    assert not change.outside
    change = change_between("m.py", OLD, OLD.replace("STEP = 1", "STEP = 2"))
    assert (change.places, change.codes, change.outside) == ([], {}, True)
    assert change_between("m.py", OLD, OLD.replace("STEP = 1", "STEP  =  1")).places == []


def test_functions_get_the_new_code_wherever_they_are_referenced(tmp_path: Path) -> None:
    """Even a function that was imported by name gets the new code."""
    file = tmp_path / "m.py"
    spaces: dict[str, object] = {}
    exec(compile(OLD, str(file), "exec"), spaces)
    held = spaces["outer"]
    assert callable(held)
    change = change_between("m.py", OLD, OLD.replace("a + b", "a - b"))
    assert held(5) == 6
    assert Functions(tmp_path, tmp_path).put("m.py", change) == 1
    assert held(5) == 4


def test_a_module_is_imported_from_its_mutant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first import uses the mutant, and the file is unchanged."""
    (tmp_path / "mutated_module.py").write_text("STEP = 1\n")
    finder = MutantFinder(tmp_path, "mutated_module.py", "STEP = 2\n")
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    monkeypatch.syspath_prepend(tmp_path)
    import mutated_module  # type: ignore[import-not-found]  # noqa: PLC0415

    assert mutated_module.STEP == 2
    assert (tmp_path / "mutated_module.py").read_text() == "STEP = 1\n"


def test_a_trial_ends_by_its_outcome_or_by_its_deadline() -> None:
    """Each trial has a process of its own."""

    def not_put(_folder: Path) -> bool:
        raise NotPut

    def forever(_folder: Path) -> bool:
        while True:
            pass

    def dies(_folder: Path) -> bool:
        os._exit(9)

    trials = [
        Trial("well", lambda folder: folder.is_dir(), 60),
        Trial("noticed", lambda _folder: False, 60),
        Trial("raises", lambda _folder: bool(1 / 0), 60),
        Trial("dies", dies, 60),
        Trial("not put", not_put, 60),
        Trial("hangs", forever, 0.5),
    ]
    outcomes: dict[str, Outcome] = {}
    run_trials(trials, 2, outcomes.__setitem__)
    assert outcomes == {
        "well": Outcome.SURVIVED,
        "noticed": Outcome.KILLED,
        "raises": Outcome.KILLED,
        "dies": Outcome.KILLED,
        "not put": Outcome.NOT_PUT,
        "hangs": Outcome.TIMED_OUT,
    }


@pytest.mark.timeout(300)
def test_a_session_reports_the_outcome_of_each_mutant(tmp_path: Path) -> None:
    """In a small module with tests of its own, only a mutant that changes nothing survives."""
    module = Module(TOP, "zkconsumer/backoff.py")
    made = [module.mutant(number) for number in range(len(module))]
    mutants = [mutant for mutant in made if mutant is not None and " / " in mutant.after]
    assert mutants
    harmless = Mutant(module.path, 0, 1, "", "", module.source.replace("(1 + ", "(1.0 + "))
    plan = Plan(
        mutants=[asdict(mutant) for mutant in (*mutants, harmless)],
        tests=["tests/unit/test_backoff.py"],
        marks=UNIT_MARKS,
        jobs=1,
        budget_s=60,
        grace_s=20,
    )
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    before = (TOP / module.path).read_bytes()
    command = [sys.executable, "-m", "tests.mutants.session", str(tmp_path)]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    outcomes = list(json.loads((tmp_path / "outcomes.json").read_text()).values())
    assert outcomes == ["killed"] * len(mutants) + ["survived"]
    assert (TOP / module.path).read_bytes() == before


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from p.q.mod import Thing\n", True),
        ("import p.q.mod\n", True),
        ("from p.q import mod as m\n", True),
        ("from p.q import (\n    first,\n    mod,\n)\n", True),
        ("from p.q import first, mod\n", True),
        ("from p.q import model\n", False),
        ("from p.q import first\n\nmod = 1\n", False),
        ("from p.q.models import mod\n", False),
    ],
)
def test_a_test_that_imports_a_module_may_detect_changes_outside_functions(
    tmp_path: Path, text: str, *, names: bool
) -> None:
    """Any form of import counts, even if no line of the module runs, as with a dataclass."""
    (tmp_path / "test_it.py").write_text(text)
    reach = Reach(seconds={"test_it.py::test": 0.1})
    assert reach.of_module("p/q/mod.py", tmp_path) == ({"test_it.py::test"} if names else set())
