"""Worlds for the contract suites: each test runs in every lane that its fixture names."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.support.certificates import certificates
from tests.support.zk_members import Member
from tests.support.zk_worlds import MemoryWorld, RealWorld, ZkWorld
from zkconsumer.sandbox import Sandbox
from zkconsumer.zk.store import ZkStore

__all__ = ["certificates"]

# For each lane: the fixture of the server (None: in memory), and whether transactions are used
# (None: as the server says). The real servers are ZooKeeper 3.4.6, and 3.3.3 without transactions.
MODERN_LANES = [
    pytest.param((None, True), id="memory"),
    pytest.param(("zookeeper_alone", True), id="real", marks=pytest.mark.zk),
]
OLD_LANES = [
    pytest.param((None, False), id="memory-no-multi"),
    pytest.param(("zookeeper_alone", False), id="real-no-multi", marks=pytest.mark.zk),
    pytest.param(("zookeeper_3_3", None), id="real-3.3", marks=pytest.mark.zk),
]


@pytest.fixture(scope="session")
def zookeeper_alone() -> Iterator[Sandbox]:
    """A real ZooKeeper 3.4.6 without brokers, shared by the whole run."""
    with Sandbox(kafka="0.8.2.2", brokers=0) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def zookeeper_3_3() -> Iterator[Sandbox]:
    """A real ZooKeeper 3.3.3 without brokers, the version that Kafka 0.8.0 and 0.8.1 ship."""
    with Sandbox(kafka="0.8.0", brokers=0) as sandbox:
        yield sandbox


@pytest.fixture(params=MODERN_LANES)
def world(request: pytest.FixtureRequest) -> Iterator[ZkWorld]:
    """An empty ZooKeeper of 3.4 or later."""
    yield from make_world(request)


@pytest.fixture(params=OLD_LANES)
def old_world(request: pytest.FixtureRequest) -> Iterator[ZkWorld]:
    """An empty ZooKeeper without transactions."""
    yield from make_world(request)


@pytest.fixture(params=MODERN_LANES + OLD_LANES)
def any_world(request: pytest.FixtureRequest) -> Iterator[ZkWorld]:
    """An empty ZooKeeper, with and without transactions."""
    yield from make_world(request)


@pytest.fixture
def store(world: ZkWorld) -> ZkStore:
    """A first client."""
    return world.connect()


@pytest.fixture
def other(world: ZkWorld) -> ZkStore:
    """A second client."""
    return world.connect()


@pytest.fixture
def alice(any_world: ZkWorld) -> Member:
    """A first member of a group."""
    return Member(any_world.connect())


@pytest.fixture
def bob(any_world: ZkWorld) -> Member:
    """A second member of the same group."""
    return Member(any_world.connect())


def make_world(request: pytest.FixtureRequest) -> Iterator[ZkWorld]:
    """Yield the world of one lane, and stop afterwards what it started."""
    server, supports_multi = request.param
    if server is None:
        yield MemoryWorld(supports_multi=supports_multi)
        return
    sandbox = request.getfixturevalue(server)
    with ExitStack() as stack:
        yield RealWorld(sandbox, stack, supports_multi=supports_multi)
