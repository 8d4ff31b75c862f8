"""Fixtures of tests that run with both fetch loops, Python's and the native one."""

from typing import Any

import pytest

from tests.support.queues import needs_native_engine
from zkconsumer.fetch.core.completed import BufferedChunk
from zkconsumer.fetch.core.delegated import DelegatedFetch
from zkconsumer.records.engine import Engine


@pytest.fixture(params=[Engine.PURE, pytest.param(Engine.NATIVE, marks=needs_native_engine)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Each engine in turn."""
    chosen: Engine = request.param
    return chosen


@pytest.fixture
def pumped(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of records of each chunk that a pump queued."""
    counts: list[int] = []
    take = DelegatedFetch.take

    def counted(self: DelegatedFetch, **how: Any) -> BufferedChunk | None:
        chunk = take(self, **how)
        if chunk is not None:
            counts.append(len(chunk.records))
        return chunk

    monkeypatch.setattr(DelegatedFetch, "take", counted)
    return counts
