"""The modules that are mutated, and the tests that may detect it."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

from tests.mutants.sites import Module, Mutant
from tests.mutants.swap import Change, change_between

TOP = Path(__file__).parents[2]
PACKAGES = ("connector", "membership", "fetch", "offsets", "zk", "records")
TESTS = (
    *(
        f"tests/{lane}/{name}"
        for lane in ("unit", "threads")
        for name in (*PACKAGES, "native", "streams", "consumer", "status", "metrics")
    ),
    "tests/contracts",
    "tests/property",
    "tests/simulation",
)
PURE_TESTS = (
    *(
        f"tests/{lane}/{name}"
        for lane in ("unit", "threads")
        for name in ("fetch", "streams", "records")
    ),
    "tests/property/test_stream_partitions.py",
    "tests/property/test_poison.py",
    "tests/property/test_records_sets.py",
)
PURE_PATHS = ("zkconsumer/fetch/", "zkconsumer/records/")
"""The modules that run differently, or only, with the pure engine."""

SERVER_PATHS = "zkconsumer/zk/"
SERVER_TESTS = ("tests/contracts", "tests/integration/test_kazoo_store.py")
"""The modules that need a real ZooKeeper, and the tests that start one."""
UNIT_MARKS = "not sandbox and not docker and not zk and not spark and not alone"
SERVER_MARKS = "zk and not sandbox and not alone"

LEFT_OUT = (
    "tests/unit/consumer/test_interrupts.py",
    "tests/threads/membership/coordinator/polled/test_interrupts.py",
    "tests/threads/consumer/test_waiting.py",
    "tests/unit/streams/test_interrupted_stream.py",
    "tests/unit/streams/test_interrupted_reader.py",
    "tests/simulation/test_planted_faults.py",
)
"""Tests that trace, raise at any place (also in a tracer), or plant faults themselves."""

_TOLD = re.compile(r"(?P<path>zkconsumer/\S+\.py):(?P<line>\d+): (?P<change>.*)")


class Plan(TypedDict):
    """The input of a session.

    Attributes:
        mutants: the fields of each mutant.
        tests: the paths to load.
        jobs: the number of processes at a time.
        marks: the tests' marks, as in pytest's ``-m``.
        budget_s: how long the tests of one mutant may take.
        grace_s: how much longer a trial may take, for instance to start servers.
    """

    mutants: list[dict[str, Any]]
    tests: Sequence[str]
    marks: str
    jobs: int
    budget_s: float
    grace_s: float


def pytest_arguments(marks: str = UNIT_MARKS) -> list[str]:
    """Return pytest's arguments for repeatable, quiet runs that leave the checkout unchanged."""
    return [
        *("-q", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *(f"--ignore={path}" for path in LEFT_OUT),
        *("-m", marks),
    ]


def modules(packages: Sequence[str]) -> list[str]:
    """Return the paths of the packages' modules."""
    found = (path for name in packages for path in (TOP / "zkconsumer" / name).rglob("*.py"))
    return sorted(str(path.relative_to(TOP)) for path in found)


def sample(
    packages: Sequence[str], count: int, seed: int
) -> tuple[int, list[tuple[Mutant, Change]]]:
    """Draw mutants at random; return how many there are in total, too.

    The choice depends on a digest of each change, so other mutants stay when code changes.
    """
    sites = {
        hashlib.blake2b(f"{seed}\0{key}".encode()).digest(): (path, number)
        for path in modules(packages)
        for number, key in enumerate(_module(path).keys())
    }
    order = [sites[digest] for digest in sorted(sites)]
    drawn: list[tuple[Mutant, Change]] = []
    at = 0
    while len(drawn) < count and at < len(order):
        batch = order[at : at + count - len(drawn)]
        at += len(batch)
        drawn += _made(batch)
    return len(sites), drawn


def again(reported: Iterable[str]) -> tuple[list[str], list[tuple[Mutant, Change]]]:
    """Find mutants by the lines of a report; return the lines whose mutants no longer exist.

    Code may have moved since: of several equal changes, the nearest is chosen.
    """
    wanted: dict[str, list[tuple[int, str, str]]] = {}
    for text in reported:
        found = _TOLD.search(text)
        if found is not None:
            place = int(found["line"]), found["change"].rstrip(), text.rstrip()
            wanted.setdefault(found["path"], []).append(place)
    gone: list[str] = []
    drawn: list[tuple[Mutant, Change]] = []
    for path, places in wanted.items():
        made = _made_near(path, places)
        for line, change, text in places:
            alike = [planned for planned in made if planned[0].change.rstrip() == change]
            if alike:
                drawn.append(min(alike, key=lambda planned: abs(planned[0].line - line)))
                made.remove(drawn[-1])
            else:
                gone.append(text)
    return gone, drawn


def _made_near(path: str, places: Sequence[tuple[int, str, str]]) -> list[tuple[Mutant, Change]]:
    """Make the mutants of the same lines, which is fast, or all if lines have moved."""
    if not (TOP / path).exists():
        return []
    module = _module(path)
    lines = {line for line, _, _ in places}
    near = list(_made([(path, at) for at in range(len(module)) if module.line(at) in lines]))
    if {change for _, change, _ in places} <= {mutant.change.rstrip() for mutant, _ in near}:
        return near
    return list(_made([(path, at) for at in range(len(module))]))


@lru_cache(maxsize=8)
def _module(path: str) -> Module:
    """Return a module's possible changes, cached because finding them is slow."""
    return Module(TOP, path)


def _made(sites: Sequence[tuple[str, int]]) -> Iterator[tuple[Mutant, Change]]:
    """Yield those that compile and differ from the module itself."""
    by_path: dict[str, list[int]] = {}
    for path, number in sites:
        by_path.setdefault(path, []).append(number)
    for path, numbers in by_path.items():
        module = _module(path)
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
