"""A unit test starts no thread and no process, and opens no socket: see docs/testing.md."""

from collections.abc import Generator

import pytest

from tests.support.barring import barring, sentence


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Generator[None]:
    """Refuse it to fixtures."""
    with barring():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None]:
    """Refuse it to the test, also where what is tested has caught the refusal."""
    with barring() as refused:
        result = yield
    if refused:
        pytest.fail(sentence(refused[0]))
    return result
