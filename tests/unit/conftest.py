"""Unit tests start no thread and no process, and open no socket: see docs/testing.md."""

from collections.abc import Generator

import pytest

from tests.support.barring import barring, sentence


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Forbid them to fixtures."""
    with barring():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Forbid them to the test, and fail it even if the tested code caught the refusal."""
    with barring() as refused:
        result = yield
    if refused:
        pytest.fail(sentence(refused[0]))
    return result
