"""What is mutated, and which tests may notice it."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

from tests.mutants.sites import Module, Mutant
from tests.mutants.swap import Change, change_between

TOP = Path(__file__).parents[2]
PACKAGES = ("connector", "group", "fetch", "offsets", "zk", "records")
TESTS = (
    *(f"tests/unit/{name}" for name in (*PACKAGES, "streams", "consumer", "status", "metrics")),
    "tests/property",
    "tests/simulation",
)
PURE_TESTS = (
    "tests/unit/fetch",
    "tests/unit/streams",
    "tests/unit/records",
    "tests/property/test_fetch_session.py",
    "tests/property/test_poison.py",
    "tests/property/test_records_sets.py",
)


LEFT_OUT = (
    *(f"tests/unit/consumer/{name}test_interrupts.py" for name in ("", "coordination/")),
    "tests/unit/consumer/test_waiting.py",
    "tests/unit/streams/test_interrupted_stream.py",
    "tests/unit/streams/test_interrupted_reader.py",
    "tests/simulation/test_planted_faults.py",
)
"""What traces by itself, or raises wherever it likes (in a tracer, too); what plants faults."""


class Plan(TypedDict):
    """What a session is told.

    Attributes:
        mutants: their fields.
        tests: the paths to load.
        jobs: processes at a time.
        budget_s: how long the tests of one mutant may take.
    """

    mutants: list[dict[str, Any]]
    tests: Sequence[str]
    jobs: int
    budget_s: float


def pytest_arguments() -> list[str]:
    """Repeatable, quiet, and without a trace in the checkout."""
    return [
        *("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *(f"--ignore={path}" for path in LEFT_OUT),
        *("-m", "not sandbox and not docker and not zk and not spark and not alone"),
    ]


def modules(packages: Sequence[str]) -> list[str]:
    """The paths of the packages' modules."""
    found = (path for name in packages for path in (TOP / "zkconsumer" / name).rglob("*.py"))
    return sorted(str(path.relative_to(TOP)) for path in found)


def sample(
    packages: Sequence[str], count: int, seed: int
) -> tuple[int, list[tuple[Mutant, Change]]]:
    """Draw mutants by chance; gives how many there are in all, too."""
    sites = [(path, n) for path in modules(packages) for n in range(len(Module(TOP, path)))]
    order = random.Random(seed).sample(sites, len(sites))
    drawn: list[tuple[Mutant, Change]] = []
    at = 0
    while len(drawn) < count and at < len(order):
        batch = order[at : at + count - len(drawn)]
        at += len(batch)
        drawn += _made(batch)
    return len(sites), drawn


def _made(sites: Sequence[tuple[str, int]]) -> Iterator[tuple[Mutant, Change]]:
    """Those of them that are programs, and other ones than the module itself."""
    by_path: dict[str, list[int]] = {}
    for path, number in sites:
        by_path.setdefault(path, []).append(number)
    for path, numbers in by_path.items():
        module = Module(TOP, path)
        for number in numbers:
            mutant = module.mutant(number)
            if mutant is None:
                continue
            try:
                change = change_between(path, module.source, mutant.source)
            except SyntaxError:
                continue
            if change.places or change.outside:
                yield mutant, change
