"""Putting a connector together: its name, its storage, its failures."""

import re
import socket

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.support.control_bench import Group, parts_of
from tests.support.manual_clock import ManualClock
from zkconsumer.build_info import build_info
from zkconsumer.clock import SystemClock
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_zookeeper import OPEN, ZookeeperSecurity
from zkconsumer.connector.assembly import assemble
from zkconsumer.errors import RegistryError
from zkconsumer.membership.zookeeper.configured import new_consumer_id
from zkconsumer.observe import Created, Event, MemberName
from zkconsumer.records import engine
from zkconsumer.scope import ThreadScope


class BrokenClock(ManualClock):
    """A clock that makes the assembly fail."""

    def now_ms(self) -> int:
        raise RegistryError("the connection broke again")


def test_a_generated_consumer_id_has_the_original_s_form() -> None:
    """The id is made of group, host, milliseconds and random hex digits, new each time."""
    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1")
    clock = ManualClock(wall_ms=1_795_227_905_282)
    name = new_consumer_id(config, clock)
    host = re.escape(socket.gethostname())
    assert re.fullmatch(rf"g1_{host}-1795227905282-[0-9a-f]{{1,8}}", name)
    assert new_consumer_id(config, clock) != name


def test_a_configured_name_replaces_the_generated_part() -> None:
    """``consumer.id`` replaces everything after the group."""
    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1", consumer_id="consumer1")
    assert new_consumer_id(config, ManualClock()) == "g1_consumer1"


def test_a_failed_assembly_ends_the_zookeeper_session() -> None:
    """If assembly fails after connecting, nobody else would end the session."""
    store = MemoryZkServer().connect()

    def connect(
        _zookeeper: str,
        *,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        security: ZookeeperSecurity,
    ) -> MemoryZkStore:
        assert security == OPEN
        assert (session_timeout_ms, connection_timeout_ms) == (6_000, 6_000)
        return store

    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1")
    with pytest.raises(RegistryError, match="broke again"):
        assemble(config, BrokenClock(), connect)
    with pytest.raises(RegistryError):
        store.get_many(["/"])


def test_the_first_event_of_a_connector_names_its_engine() -> None:
    """``Created``, with the build and the engine, comes before all other events, and once."""
    received: list[tuple[MemberName, Event]] = []

    class Listening:
        def observe(self, member: MemberName, event: Event) -> None:
            received.append((member, event))

    config = ConsumerConfig(zookeeper_connect="h:2181", group_id="g1", consumer_id="c1")
    parts = assemble(
        config,
        SystemClock(),
        lambda *_args, **_settings: MemoryZkServer().connect(),
        observers=(Listening(),),
    )
    parts.close(1_000)
    created = Created(**build_info().labels(), why=engine.WHY)
    assert received[0] == (MemberName("g1", "g1_c1"), created)
    assert sum(isinstance(event, Created) for _, event in received) == 1


class StuckScope(ThreadScope):
    """A scope whose threads do not end in the time that it is given."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__("stuck")
        self.given_ms: list[int] = []
        self._manual = clock

    def close(self, timeout_ms: int) -> list[str]:
        """See ``ThreadScope``."""
        self.given_ms.append(timeout_ms)
        self._manual.advance(timeout_ms)
        return ["stuck/thread"]


def test_stuck_threads_share_the_time_limit_of_close(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The time-out is for the whole close; threads that still run are logged."""
    member, clock = Group().member("a"), ManualClock()
    fetch, control = StuckScope(clock), StuckScope(clock)
    config = ConsumerConfig(zookeeper_connect="memory:2181", group_id="g")
    parts_of(member, config, clock=clock, fetch_scope=fetch, control_scope=control).close(200)
    assert (fetch.given_ms, control.given_ms) == ([200], [0])
    assert "still running after 200 ms: ['stuck/thread', 'stuck/thread']" in caplog.text
