"""Real clusters that tests share: each is started once a session, by the first test that asks.

Tests keep apart by names: take topics and groups from ``fresh_name``. A test that stops, kills
or pauses a server of a shared cluster starts it again before it ends; one that changes settings
starts a ``Sandbox`` of its own.
"""

import itertools
import uuid
from collections.abc import Iterator

import pytest

from zkconsumer.sandbox import Sandbox

_numbers = itertools.count(1)
_session = uuid.uuid4().hex[:6]


def fresh_name(prefix: str) -> str:
    """A name for a topic or a group that nobody has used: ``prefix-<session>-<number>``."""
    return f"{prefix}-{_session}-{next(_numbers)}"


@pytest.fixture(scope="session")
def cluster() -> Iterator[Sandbox]:
    """One broker 0.8.2.2, for all tests of the session."""
    with Sandbox(kafka="0.8.2.2", brokers=1) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def cluster3() -> Iterator[Sandbox]:
    """Three brokers 0.8.2.2, for all tests of the session."""
    with Sandbox(kafka="0.8.2.2", brokers=3) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[Sandbox]:
    """ZooKeeper 3.4.6 without brokers, under a chroot, for all tests of the session."""
    with Sandbox(kafka="0.8.2.2", brokers=0) as sandbox:
        yield sandbox
