"""Wires the decision-making parts of one member: everything but threads, brokers and sockets.

A connector runs them on a thread with real fetchers; a simulation runs many members in turn.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from zkconsumer.clock import Clock
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.autocommit import CommitTimer
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.commit_service import CommitService
from zkconsumer.membership.zookeeper.threads.commits import CommitRules, OffsetCommitter
from zkconsumer.membership.zookeeper.threads.control import ControlComponents, ControlThread
from zkconsumer.membership.zookeeper.threads.journal import RebalanceJournal
from zkconsumer.membership.zookeeper.threads.listener_calls import ListenerCalls
from zkconsumer.membership.zookeeper.threads.messages import Message
from zkconsumer.membership.zookeeper.threads.ownership import (
    COMMITTED,
    CONSUMED,
    DELIVERED,
    OwnedClaims,
    PositionRule,
)
from zkconsumer.membership.zookeeper.threads.steps import (
    Collaborators,
    Fetching,
    RebalanceSteps,
    StepSettings,
)
from zkconsumer.observe import Observation
from zkconsumer.offsets.store import OffsetStore
from zkconsumer.scope import Mailbox
from zkconsumer.streams.delivery import Delivery
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.store import ZkStore


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSettings:
    """A member's settings, from the configuration."""

    group_id: str
    rebalance: RebalanceSettings
    exclude_internal_topics: bool = True
    auto_commit: bool = True
    auto_commit_interval_ms: int = 60_000
    delivery: Delivery = Delivery.AT_LEAST_ONCE
    leave_timeout_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberWorld:
    """The collaborators of a member.

    ``random`` returns numbers in [0, 1); the mailbox is the control thread's.
    """

    store: ZkStore
    registry: GroupRegistry
    offset_store: OffsetStore
    fetching: Fetching
    clock: Clock
    random: Callable[[], float]
    observation: Observation
    mailbox: Mailbox[Message] = field(default_factory=Mailbox)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRuntime:
    """A member that is ready to run."""

    core: RebalanceCore
    claims: OwnedClaims
    listener: ListenerCalls
    control: ControlThread


def build_member(settings: MemberSettings, world: MemberWorld) -> MemberRuntime:
    """Wire a member up; write nothing, start nothing."""
    consumer_id = settings.rebalance.consumer_id
    core = RebalanceCore(settings.rebalance, world.random)
    claims = OwnedClaims(_position_rule(settings))
    rules = CommitRules.of(settings.delivery)
    listener = ListenerCalls(consumer_id, world.observation)
    committer = OffsetCommitter(
        world.offset_store, settings.group_id, clock=world.clock, observation=world.observation
    )
    steps = RebalanceSteps(
        StepSettings(
            consumer_id=consumer_id,
            exclude_internal_topics=settings.exclude_internal_topics,
            automatic=rules.automatic if settings.auto_commit else None,
        ),
        Collaborators(
            registry=world.registry,
            offset_store=world.offset_store,
            committer=committer,
            claims=claims,
            fetching=world.fetching,
            clock=world.clock,
            listener=listener,
            observation=world.observation,
        ),
        lambda cause: world.mailbox.put(ev.RebalanceTriggered(cause)),
    )
    shared = CommitService(
        claims=claims,
        committer=committer,
        timer=CommitTimer(
            enabled=settings.auto_commit,
            interval_ms=settings.auto_commit_interval_ms,
            now_ms=world.clock.now_ms(),
        ),
        rules=rules,
        trigger_rebalance=lambda: world.mailbox.put(
            ev.RebalanceTriggered(ev.RebalanceCause.COMMIT_FAILED)
        ),
        store=world.store,
    )
    control = ControlThread(
        ControlComponents(
            group_id=settings.group_id,
            core=core,
            steps=steps,
            claims=claims,
            shared=shared,
            journal=RebalanceJournal(world.observation, world.clock),
            store=world.store,
            clock=world.clock,
            leave_timeout_ms=settings.leave_timeout_ms,
            mailbox=world.mailbox,
        )
    )
    return MemberRuntime(core=core, claims=claims, listener=listener, control=control)


def _position_rule(settings: MemberSettings) -> PositionRule:
    if settings.delivery.commits_ahead:
        return COMMITTED
    return CONSUMED if settings.auto_commit else DELIVERED
