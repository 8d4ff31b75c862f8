"""What tests of threads need."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
