"""Fixtures of tests that run with both fetch loops of streams, Python's and the native one."""

import pytest

from tests.support.queues import needs_native_engine
from zkconsumer.records.engine import Engine


@pytest.fixture(params=[Engine.PURE, pytest.param(Engine.NATIVE, marks=needs_native_engine)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    chosen: Engine = request.param
    return chosen
