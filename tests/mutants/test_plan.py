"""The paths and mutants of the plan exist."""

import pytest

from tests.mutants.plan import (
    LEFT_OUT,
    PACKAGES,
    PURE_TESTS,
    SERVER_TESTS,
    TESTS,
    TOP,
    again,
    modules,
    sample,
)

SMALL = "membership/coordinator/polled"
"""A small package, because making mutants is slow."""


@pytest.mark.parametrize("path", [*TESTS, *PURE_TESTS, *SERVER_TESTS, *LEFT_OUT])
def test_every_path_exists(path: str) -> None:
    """A test that moves must be moved in the plan, too."""
    assert (TOP / path).exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_modules(package: str) -> None:
    """Each package has modules, all of them in its folder."""
    assert all(path.startswith(f"zkconsumer/{package}/") for path in modules([package]))
    assert modules([package])


def test_a_seed_draws_the_same_mutants_again() -> None:
    """Another seed draws others; each is a program that differs from its module."""
    total, drawn = sample([SMALL], 20, seed=1)
    again = sample([SMALL], 20, seed=1)[1]
    other = sample([SMALL], 20, seed=2)[1]
    assert total > 200
    assert [str(mutant) for mutant, _ in drawn] == [str(mutant) for mutant, _ in again]
    assert [str(mutant) for mutant, _ in drawn] != [str(mutant) for mutant, _ in other]
    assert all(change.places or change.outside for _, change in drawn)


def test_a_reported_mutant_is_found_again() -> None:
    """It is found by its line, or by its change if lines moved, or reported as gone."""
    drawn = [mutant for mutant, _ in sample([SMALL], 5, seed=1)[1]]
    gone, found = again(f"survived: {mutant}" for mutant in drawn)
    assert (gone, {mutant for mutant, _ in found}) == ([], set(drawn))
    moved = drawn[0]
    reported = [
        f"survived: {moved.path}:{moved.line + 7}: {moved.change}",
        f"survived: {moved.path}:1: nothing  ->  like it",
        "a line of something else",
    ]
    gone, found = again(reported)
    assert gone == [reported[1]]
    assert [mutant.change for mutant, _ in found] == [moved.change]
