"""Fixtures of the tests with both kinds of members."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interop.mixed_group import MixedGroup
from zkconsumer.sandbox import Sandbox


@pytest.fixture
def group(cluster: Sandbox, tmp_path: Path) -> Iterator[MixedGroup]:
    """A fresh group on the cluster of the session."""
    mixed = MixedGroup(cluster, tmp_path)
    try:
        yield mixed
    finally:
        mixed.close()
