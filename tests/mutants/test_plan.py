"""What the lane is made of is there."""

import pytest

from tests.mutants.plan import LEFT_OUT, PACKAGES, PURE_TESTS, TESTS, TOP, modules, sample


@pytest.mark.parametrize("path", [*TESTS, *PURE_TESTS, *LEFT_OUT])
def test_every_path_exists(path: str) -> None:
    """A test that moves takes its place in the lane along."""
    assert (TOP / path).exists()


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_has_modules(package: str) -> None:
    """And none is looked for elsewhere."""
    assert all(path.startswith(f"zkconsumer/{package}/") for path in modules([package]))
    assert modules([package])


def test_a_seed_draws_the_same_mutants_again() -> None:
    """And another one others; each is a program that differs from its module."""
    total, drawn = sample(["group"], 20, seed=1)
    again = sample(["group"], 20, seed=1)[1]
    other = sample(["group"], 20, seed=2)[1]
    assert total > 500
    assert [str(mutant) for mutant, _ in drawn] == [str(mutant) for mutant, _ in again]
    assert [str(mutant) for mutant, _ in drawn] != [str(mutant) for mutant, _ in other]
    assert all(change.places or change.outside for _, change in drawn)
