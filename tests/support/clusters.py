"""Real clusters that tests share: each is started once a session, by the first test that asks.

Tests keep apart by names: take topics and groups from ``fresh_name``. A test that stops, kills
or pauses a server of a shared cluster starts it again before it ends; one that changes settings
starts a ``Sandbox`` of its own.
"""

import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode

BrokerOf = Callable[[str], Sandbox]
"""Gives the one broker of a Kafka version; starts it when it is first asked for."""

SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}
"""Brokers refuse sessions under 6 s unless told otherwise: tests can't wait so long."""

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


@pytest.fixture(scope="session")
def broker_of() -> Iterator[BrokerOf]:
    """One broker of each version that a test asks for, for all tests of the session.

    Coordinator groups may have sessions of half a second there.
    """
    with ExitStack() as running:
        started: dict[str, Sandbox] = {}

        def broker(version: str) -> Sandbox:
            if version not in started:
                sandbox = Sandbox(kafka=version, brokers=1, broker_properties=SHORT_SESSIONS)
                started[version] = running.enter_context(sandbox)
            return started[version]

        yield broker


@pytest.fixture(scope="session")
def kraft() -> Iterator[KraftNode]:
    """One node of Kafka 4, which has no ZooKeeper, for all tests of the session."""
    with KraftNode() as node:
        yield node
