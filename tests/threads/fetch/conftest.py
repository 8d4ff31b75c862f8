"""Fixtures of tests that run with either loop of streams."""

import pytest

from tests.support.queues import needs_native_engine
from zkconsumer.records.engine import Engine


@pytest.fixture(params=[Engine.PURE, pytest.param(Engine.NATIVE, marks=needs_native_engine)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """One loop after the other."""
    chosen: Engine = request.param
    return chosen
