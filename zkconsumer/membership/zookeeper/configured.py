"""Builds a ZooKeeper member from its configuration: its name, its session, its components."""

import random
import socket
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from zkconsumer.build_info import build_info
from zkconsumer.clock import Clock
from zkconsumer.config import ConsumerConfig
from zkconsumer.config_zookeeper import ZookeeperSecurity
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.zookeeper.assembly import MemberRuntime, build_member
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.environment import (
    Fetching,
    MemberSettings,
    MemberWorld,
)
from zkconsumer.membership.zookeeper.threads.logging_observer import LoggingObserver
from zkconsumer.membership.zookeeper.threads.messages import Message
from zkconsumer.membership.zookeeper.threads.session_events import listen
from zkconsumer.net.security import SecuritySettings
from zkconsumer.observe import Created, MemberName, Observation, Observer
from zkconsumer.offsets.wiring import OffsetSide, wire_offsets
from zkconsumer.scope import Mailbox
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore

T = TypeVar("T")


class OpenZookeeperSession(Protocol):
    """The function that opens a ZooKeeper session; see ``kazoo_store.connect``."""

    def __call__(
        self,
        zookeeper_connect: str,
        /,
        *,
        session_timeout_ms: int,
        connection_timeout_ms: int,
        security: ZookeeperSecurity,
    ) -> ZkStore:
        """Open a session."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberContext:
    """The objects that a member shares with the public consumer above it.

    Attributes:
        name: group and consumer id.
        observation: receives every event.
        registry: the group, its members and brokers in ZooKeeper.
        offsets: the stores of ``offsets.storage``.
        fork_guard: refuses calls in forked children.
        gate: stops delivery while ZooKeeper is silent.
        mailbox: the control thread's mailbox.
    """

    config: ConsumerConfig
    store: ZkStore
    clock: Clock
    name: MemberName
    observation: Observation
    registry: GroupRegistry
    offsets: OffsetSide
    fork_guard: ForkGuard
    gate: DeliveryGate
    mailbox: Mailbox[Message] = field(default_factory=Mailbox)


def in_new_session(
    config: ConsumerConfig, connect: OpenZookeeperSession, build: Callable[[ZkStore], T]
) -> T:
    """Open a member's session and build on it; end it if that raises: nothing else would.

    A context manager of ``contextlib`` would leave it open where a signal handler raises within.

    Raises:
        ConfigError, RegistryError: see ``kazoo_store.connect``.
    """
    store = connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
        security=config.zookeeper_security,
    )
    try:
        return build(store)
    except BaseException:
        # The connection was lost again, or Ctrl-C.
        store.close(config.shutdown_timeout_ms)
        raise


def new_consumer_id(config: ConsumerConfig, clock: Clock) -> str:
    """Return the member's name: group, host, milliseconds, eight hex digits of a random UUID.

    Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector``, which names its members the same way.
    """
    if config.consumer_id is not None:
        return f"{config.group_id}_{config.consumer_id}"
    upper_half = f"{uuid.uuid4().int >> 64:x}"
    return f"{config.group_id}_{socket.gethostname()}-{clock.wall_ms()}-{upper_half[:8]}"


def member_context(
    config: ConsumerConfig,
    *,
    name: MemberName,
    store: ZkStore,
    clock: Clock,
    observers: Sequence[Observer],
    security: SecuritySettings,
) -> MemberContext:
    """Create the collaborators of a member that is wired up later; write nothing, start nothing.

    Args:
        config: all settings.
        name: see ``new_consumer_id``.
        store: the session.
        clock: for pauses and deadlines.
        observers: receive every event, ``Created`` at once.
        security: the security of connections to the group's coordinator; selects the brokers'
            listeners.
    """
    observation = Observation(name, (LoggingObserver(clock), *observers))
    info = build_info()
    observation.report(Created(**info.labels(), why=info.why))
    fork_guard = ForkGuard(f"consumer {name.consumer_id} of group {config.group_id}")
    registry = GroupRegistry(store, config.group_id, protocol=security.protocol)
    silence_ms = store.negotiated_timeout_ms * config.zookeeper_silence_percent // 100
    return MemberContext(
        config=config,
        store=store,
        clock=clock,
        name=name,
        observation=observation,
        registry=registry,
        offsets=wire_offsets(config, store, registry, clock, security=security),
        fork_guard=fork_guard,
        gate=DeliveryGate(clock, silence_ms, observation, fork_guard),
    )


def configured_member(
    context: MemberContext, fetching: Fetching, *, auto_commit: bool
) -> MemberRuntime:
    """Wire up the member, and subscribe it to the events of its session.

    Args:
        context: see ``MemberContext``.
        fetching: fetches the claims.
        auto_commit: whether the control thread commits by itself.
    """
    member = build_member(
        _settings(context, auto_commit=auto_commit),
        MemberWorld(
            store=context.store,
            registry=context.registry,
            offset_store=context.offsets.store,
            fetching=fetching,
            clock=context.clock,
            random=random.random,
            observation=context.observation,
            mailbox=context.mailbox,
        ),
    )
    listen(
        context.store,
        context.mailbox.put,
        claims=member.claims,
        gate=context.gate,
        interrupt=context.offsets.interrupt,
        observation=context.observation,
    )
    return member


def _settings(context: MemberContext, *, auto_commit: bool) -> MemberSettings:
    config, session_ms = context.config, context.store.negotiated_timeout_ms
    return MemberSettings(
        group_id=config.group_id,
        rebalance=RebalanceSettings(
            consumer_id=context.name.consumer_id,
            strategy=config.partition_assignment_strategy,
            max_retries=config.rebalance_max_retries,
            backoff_ms=config.rebalance_backoff_ms,
            session_timeout_ms=session_ms,
            audit_interval_ms=config.owner_audit_interval_ms,
        ),
        exclude_internal_topics=config.exclude_internal_topics,
        auto_commit=auto_commit,
        auto_commit_interval_ms=config.auto_commit_interval_ms,
        delivery=Delivery(config.delivery),
        leave_timeout_ms=min(session_ms, config.shutdown_timeout_ms // 2),
    )
