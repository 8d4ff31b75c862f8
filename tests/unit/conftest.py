"""Unit tests start no thread and no process, and open no socket: see docs/testing.md."""

from collections.abc import Generator

import pytest

from tests.support.forbidden_in_unit_tests import forbid_io, refusal_message


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Forbid them to fixtures."""
    with forbid_io():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Forbid them to the test, and fail it even if the tested code caught the refusal."""
    with forbid_io() as refused:
        result = yield
    if refused:
        pytest.fail(refusal_message(refused[0]))
    return result
