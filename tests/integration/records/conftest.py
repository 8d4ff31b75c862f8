"""One real broker for all tests of the record layer."""

from collections.abc import Iterator

import pytest

from tests.support.real_topics import PartitionReader
from zkconsumer.sandbox.cluster import Sandbox


@pytest.fixture
def reader(cluster: Sandbox) -> Iterator[PartitionReader]:
    """Open a connection to the broker."""
    opened = PartitionReader(cluster)
    yield opened
    opened.close()
