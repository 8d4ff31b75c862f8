"""Each setting reaches the component that uses it; each value differs from the default."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.support.manual_clock import ManualClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector import connector, fetch_wiring
from zkconsumer.connector.assembly import ConnectorComponents, assemble
from zkconsumer.connector.connector import ZookeeperConsumerConnector
from zkconsumer.errors import ConfigError, PartitionFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.fetch.core.starts import LogEdge
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.fetch.settings import FetchSettings
from zkconsumer.membership.zookeeper import configured
from zkconsumer.membership.zookeeper.assembly import (
    MemberRuntime,
    build_member,
)
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import PLAINTEXT, SecuritySettings
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.observe import Event, MemberName, MessagePoisoned
from zkconsumer.offsets import coordinator
from zkconsumer.offsets import wiring as offset_wiring
from zkconsumer.offsets.coordinator import ChannelSettings, CoordinatorChannel
from zkconsumer.streams.delivery import Delivery
from zkconsumer.wire.negotiation import of_generation
from zkconsumer.wire.versions import BrokerGeneration

T0 = TopicPartition("t", 0)
CLOCK = ManualClock()


def assembled(
    server: MemoryZkServer | None = None,
    *,
    security: SecuritySettings = PLAINTEXT,
    **settings: object,
) -> ConnectorComponents:
    """Return the components of a connector with these settings."""
    wanted: Mapping[str, Any] = {"zookeeper_connect": "h:2181", "group_id": "g1", **settings}

    def connect(*_args: object, **_settings: object) -> MemoryZkStore:
        return (server or MemoryZkServer()).connect()

    return assemble(ConsumerConfig(None, **wanted), CLOCK, connect, security=security)


def test_a_member_gets_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The member gets its settings, and the store, clock and mailbox that the others use."""
    seen: list[tuple[MemberSettings, MemberWorld, MemberRuntime]] = []

    def recording(settings: MemberSettings, world: MemberWorld) -> MemberRuntime:
        seen.append((settings, world, build_member(settings, world)))
        return seen[-1][2]

    monkeypatch.setattr(configured, "build_member", recording)
    parts = assembled(
        consumer_id="c1",
        partition_assignment_strategy="roundrobin",
        rebalance_max_retries=7,
        rebalance_backoff_ms=1_234,
        owner_audit_interval_ms=4_321,
        exclude_internal_topics=False,
        auto_commit_enable=False,
        auto_commit_interval_ms=7_654,
        delivery="scala",
        shutdown_timeout_ms=1_000,
    )
    [(settings, world, member)] = seen
    assert settings == MemberSettings(
        group_id="g1",
        rebalance=RebalanceSettings(
            consumer_id="g1_c1",
            strategy="roundrobin",
            max_retries=7,
            backoff_ms=1_234,
            session_timeout_ms=parts.context.store.negotiated_timeout_ms,
            audit_interval_ms=4_321,
        ),
        exclude_internal_topics=False,
        auto_commit=False,
        auto_commit_interval_ms=7_654,
        delivery=Delivery.SCALA,
        leave_timeout_ms=500,
    )
    assert (world.store, world.clock, world.offset_store) == (
        parts.context.store,
        CLOCK,
        parts.context.offsets.store,
    )
    assert world.mailbox is member.control.mailbox is parts.member.control.mailbox
    parts.close(1_000)


def test_the_threads_of_a_connector_carry_its_name() -> None:
    """A process may have several connectors, which lists of threads and logs tell apart."""
    parts = assembled(consumer_id="c1")
    assert parts.context.name.consumer_id == "g1_c1"
    assert (parts.control_scope.name, parts.fetch_scope.name) == ("g1_c1", "g1_c1")
    parts.close(1_000)


def test_streams_deliver_for_the_configured_share_of_a_session() -> None:
    """With a suspect session, delivery stops after ``zookeeper.silence.percent`` of it."""
    parts = assembled(zookeeper_silence_percent=50)
    gate = parts.context.gate
    gate.suspect()
    CLOCK.advance(parts.context.store.negotiated_timeout_ms // 2 - 1)
    assert not gate.is_shut()
    CLOCK.advance(1)
    assert gate.is_shut()
    parts.close(1_000)


@pytest.mark.parametrize(
    ("reset", "policy"),
    [("smallest", LogEdge.EARLIEST), ("largest", LogEdge.LATEST)],
)
def test_fetchers_get_their_settings(
    monkeypatch: pytest.MonkeyPatch, reset: str, policy: LogEdge
) -> None:
    """All fetch settings, above all where a group without offsets starts, reach the fetchers."""
    seen: list[Any] = []

    def recording(**parts: Any) -> LeaderFinder:
        seen.append(parts["settings"])
        return LeaderFinder(**parts)

    monkeypatch.setattr(fetch_wiring, "LeaderFinder", recording)
    assembled(
        auto_offset_reset=reset,
        fetch_message_max_bytes=10_001,
        fetch_message_catch_up_max_bytes=15_015,
        fetch_message_growth_max_bytes=20_002,
        fetch_max_decompressed_bytes=30_003,
        fetch_min_bytes=4,
        fetch_wait_max_ms=55,
        socket_timeout_ms=6_006,
        refresh_leader_backoff_ms=77,
        num_consumer_fetchers=8,
        fetch_max_bytes=90_009,
        poison_policy="skip",
    ).close(1_000)
    assert seen == [
        FetchSettings(
            max_partition_bytes=10_001,
            grown_bytes=15_015,
            growth_max_bytes=20_002,
            max_decompressed_bytes=30_003,
            min_bytes=4,
            max_wait_ms=55,
            request_timeout_ms=6_006,
            reset=policy,
            leader_backoff_ms=77,
            fetcher_count=8,
            max_bytes=90_009,
            skip_poison=True,
        )
    ]


def test_brokers_are_addressed_at_the_listener_of_the_security_protocol(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Fetchers and lookups use the listener that the configured security protocol needs."""
    server = MemoryZkServer()
    admin = server.connect()
    admin.ensure_paths(["/brokers/ids"])
    admin.set_or_create_many(
        {
            "/brokers/ids/1": b'{"version":2,"host":"plain","port":9092,'
            b'"endpoints":["PLAINTEXT://plain:9092","SASL_SSL://tls:9093"]}',
            "/brokers/ids/2": b'{"version":1,"host":"old","port":9092}',
        }
    )
    wanted = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p"
    )
    seen: list[Any] = []

    def dialer(*args: Any, **parts: Any) -> BrokerDialer:
        seen.append(parts["security"])
        return BrokerDialer(*args, **parts)

    def managing(**parts: Any) -> LeaderFinder:
        seen.append(parts["access"].list_brokers())
        return LeaderFinder(**parts)

    monkeypatch.setattr(fetch_wiring, "BrokerDialer", dialer)
    monkeypatch.setattr(fetch_wiring, "LeaderFinder", managing)
    assembled(server).close(1_000)
    assembled(server, security=wanted).close(1_000)
    plain = (Broker(1, "plain", 9092), Broker(2, "old", 9092))
    assert seen == [PLAINTEXT, plain, wanted, (Broker(1, "tls", 9093),)]


def test_broker_connections_get_their_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections for fetching and lookups use the configured times and the connector's clock."""
    seen: list[object] = []
    dialers: list[BrokerDialer] = []

    def dialer(connector: TcpConnector, **parts: Any) -> BrokerDialer:
        seen.append(connector._receive_buffer_bytes)
        timeouts_ms = (parts["connect_timeout_ms"], parts["request_timeout_ms"])
        seen.append((parts["client_id"], *timeouts_ms, parts["clock"]))
        dialers.append(BrokerDialer(connector, **parts))
        return dialers[-1]

    def cluster(*args: Any, **parts: Any) -> ClusterClient:
        assert args == (dialers[-1], ())
        seen.append((parts["request_timeout_ms"], parts["retry_backoff_ms"], parts["clock"]))
        return ClusterClient(*args, **parts)

    monkeypatch.setattr(fetch_wiring, "BrokerDialer", dialer)
    monkeypatch.setattr(fetch_wiring, "ClusterClient", cluster)
    assembled(
        client_id="me",
        socket_receive_buffer_bytes=12_345,
        socket_timeout_ms=6_006,
        refresh_leader_backoff_ms=77,
    ).close(1_000)
    assert seen == [12_345, ("me", 6_006, 6_006, CLOCK), (6_006, 77, CLOCK)]


@pytest.mark.parametrize(("socket_timeout_ms", "epochs_ms"), [(60_000, 3_000), (1_500, 1_500)])
def test_a_lookup_of_epoch_ends_takes_three_seconds_at_most(
    monkeypatch: pytest.MonkeyPatch, socket_timeout_ms: int, epochs_ms: int
) -> None:
    """A leader has three seconds to report the end of an epoch, less with ``socket.timeout.ms``."""
    requested: list[tuple[object, int]] = []

    def managing(**parts: Any) -> LeaderFinder:
        parts["access"].epoch_ends({T0: 3})
        return LeaderFinder(**parts)

    def epoch_ends(_self: ClusterClient, doubts: object, *, timeout_ms: int) -> None:
        requested.append((doubts, timeout_ms))

    monkeypatch.setattr(ClusterClient, "epoch_ends", epoch_ends)
    monkeypatch.setattr(fetch_wiring, "LeaderFinder", managing)
    assembled(socket_timeout_ms=socket_timeout_ms).close(1_000)
    assert requested == [({T0: 3}, epochs_ms)]


@pytest.mark.parametrize(
    ("shutdown_ms", "limit_ms"), [(600, 400), (500, 333), (1, 1), (10**9, None)]
)
def test_a_commit_to_kafka_leaves_time_for_the_release(
    monkeypatch: pytest.MonkeyPatch, shutdown_ms: int, limit_ms: int | None
) -> None:
    """A commit may take two thirds of the shutdown time-out, and two sessions at most."""
    seen: list[ChannelSettings] = []

    def recording(group_id: str, settings: ChannelSettings, **parts: Any) -> CoordinatorChannel:
        assert (group_id, parts["clock"]) == ("g1", CLOCK)
        seen.append(settings)
        return CoordinatorChannel(group_id, settings, **parts)

    monkeypatch.setattr(offset_wiring, "CoordinatorChannel", recording)
    parts = assembled(
        offsets_storage="kafka",
        shutdown_timeout_ms=shutdown_ms,
        offsets_channel_socket_timeout_ms=1_111,
        offsets_channel_backoff_ms=222,
    )
    [settings] = seen
    session_ms = parts.context.store.negotiated_timeout_ms
    assert (settings.timeout_ms, settings.backoff_ms) == (1_111, 222)
    assert settings.limit_ms == (2 * session_ms if limit_ms is None else limit_ms)
    parts.close(1_000)


def test_the_coordinator_connection_gets_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """It uses the channel's time-out and the security settings, without asking for versions."""
    seen: list[object] = []

    def dialer(connector: TcpConnector, **parts: Any) -> BrokerDialer:
        assert isinstance(connector, TcpConnector)
        timeouts_ms = (parts["connect_timeout_ms"], parts["request_timeout_ms"])
        seen.extend((parts["client_id"], timeouts_ms, parts["security"], parts["assumed"]))
        return BrokerDialer(connector, **parts)

    monkeypatch.setattr(coordinator, "BrokerDialer", dialer)
    wanted = SecuritySettings(
        protocol="SASL_SSL", sasl_mechanism="PLAIN", sasl_username="u", sasl_password="p"
    )
    assembled(
        security=wanted,
        offsets_storage="kafka",
        client_id="me",
        offsets_channel_socket_timeout_ms=1_111,
    ).close(1_000)
    assumed = of_generation(BrokerGeneration.V0_8_2)
    assert seen == ["me", (1_111, 1_111), wanted, assumed]


@pytest.mark.parametrize(
    ("settings", "storage"),
    [
        ({"offsets_storage": "zookeeper"}, "zookeeper"),
        ({"offsets_storage": "kafka", "dual_commit_enabled": False}, "kafka"),
        ({"offsets_storage": "kafka", "dual_commit_enabled": True}, "both"),
    ],
)
def test_members_and_others_commit_to_the_same_storage(
    settings: dict[str, Any], storage: str
) -> None:
    """A member must find what a consumer without membership committed."""
    parts = assembled(**settings)
    offsets = parts.context.offsets
    assert (offsets.store.storage, offsets.unguarded.storage) == (storage, storage)
    assert offsets.store.expires == offsets.unguarded.expires == (storage != "zookeeper")
    parts.close(1_000)


@pytest.mark.parametrize("auto_commit", [True, False])
@pytest.mark.parametrize("storage", ["kafka", "zookeeper"])
def test_a_warning_says_when_brokers_may_expire_offsets(
    caplog: pytest.LogCaptureFixture, storage: str, auto_commit: bool
) -> None:
    """Without automatic commits nothing renews offsets in Kafka; ZooKeeper keeps them for good."""
    assembled(offsets_storage=storage, auto_commit_enable=auto_commit).close(1_000)
    message = [
        record.getMessage()
        for record in caplog.records
        if "offsets.retention" in record.getMessage()
    ]
    assert len(message) == (storage == "kafka" and not auto_commit)
    assert all("group g1" in line for line in message)


def test_only_a_member_s_store_checks_ownership() -> None:
    """A member's store refuses partitions that it does not own; the unguarded store does not."""
    server = MemoryZkServer()
    admin = server.connect()
    admin.ensure_paths(["/consumers", "/brokers/ids", "/brokers/topics"])
    admin.set_or_create_many({"/brokers/topics/t": b'{"version":1,"partitions":{"0":[0]}}'})
    parts = assembled(server)
    store, unguarded = parts.context.offsets.store, parts.context.offsets.unguarded
    assert "own" in str(store.commit({T0: OffsetAndMetadata(5)})[T0])
    assert unguarded.commit({T0: OffsetAndMetadata(7)}) == {T0: None}
    assert [offset_store.fetch([T0])[T0].offset for offset_store in (store, unguarded)] == [7, 7]
    parts.close(1_000)


@pytest.mark.parametrize("dual", [True, False])
def test_a_member_commits_only_owned_partitions_to_kafka(dual: bool) -> None:
    """A coordinator accepts any partition, so the owner nodes are read before it is contacted."""
    server = MemoryZkServer()
    admin = server.connect()
    admin.ensure_paths(["/consumers", "/brokers/ids", "/brokers/topics"])
    admin.set_or_create_many({"/brokers/topics/t": b'{"version":1,"partitions":{"0":[0]}}'})
    parts = assembled(server, offsets_storage="kafka", dual_commit_enabled=dual)
    refused = parts.context.offsets.store.commit({T0: OffsetAndMetadata(5)})
    assert "the owner node of t-0 is gone, or another member's" in str(refused[T0])
    parts.close(1_000)


def test_poison_messages_are_written_to_the_configured_file(tmp_path: Path) -> None:
    """The dead letter carries the time of the connector's clock, and observers are notified."""
    events: list[Event] = []

    class Listening:
        def observe(self, _member: MemberName, event: Event) -> None:
            events.append(event)

    file = tmp_path / "dead.json"
    config = ConsumerConfig(
        zookeeper_connect="h:2181",
        group_id="g1",
        poison_policy="dead_letter",
        poison_dead_letter_file=str(file),
        queued_max_bytes=12_345_678,
    )
    clock = ManualClock(wall_ms=1_500_000_000_000)
    parts = assemble(
        config,
        clock,
        lambda *_args, **_settings: MemoryZkServer().connect(),
        observers=(Listening(),),
    )
    error = PartitionFailed(T0, 5, "bad checksum")
    parts.poison.handle(Poison(T0, 5, 6, error))
    assert json.loads(file.read_text())["time"] == "2017-07-14T02:40:00.000+00:00"
    assert MessagePoisoned(T0, 5, 6, "dead_letter", str(error)) in events
    assert parts.context.clock is clock
    assert parts.budget.limit_bytes == 12_345_678
    parts.close(1_000)


def test_ssl_context_and_token_provider_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's own SSL context and token provider, which no setting can hold, are used."""
    seen: list[SecuritySettings] = []

    def recording(*_parts: object, security: SecuritySettings, **_settings: object) -> None:
        seen.append(security)
        raise ConfigError("seen")

    monkeypatch.setattr(connector, "assemble", recording)
    context = ssl.create_default_context()
    config = ConsumerConfig(
        zookeeper_connect="h:2181",
        group_id="g1",
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
    )
    with pytest.raises(ConfigError, match="seen"):
        ZookeeperConsumerConnector(
            config, ssl_context=context, sasl_oauth_token_provider=lambda: "token"
        )
    [security] = seen
    assert security.ssl_context is context
    assert security.token_source is not None
