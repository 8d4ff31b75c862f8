"""Wires up the decision-making parts of one member: everything but threads, brokers and sockets.

A connector runs them on a thread with real fetchers; a simulation runs many members in turn.
"""

from dataclasses import dataclass

from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.threads.commit_service import CommitService
from zkconsumer.membership.zookeeper.threads.commits import CommitRules, OffsetCommitter
from zkconsumer.membership.zookeeper.threads.control import ControlThread
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.listener_calls import ListenerCalls
from zkconsumer.membership.zookeeper.threads.ownership import (
    COMMITTED,
    CONSUMED,
    DELIVERED,
    OwnedClaims,
    PositionRule,
)
from zkconsumer.membership.zookeeper.threads.steps import RebalanceSteps


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberRuntime:
    """A member that is ready to run."""

    core: RebalanceCore
    claims: OwnedClaims
    listener: ListenerCalls
    control: ControlThread


def build_member(settings: MemberSettings, world: MemberWorld) -> MemberRuntime:
    """Wire up a member; write nothing, start nothing."""
    core = RebalanceCore(settings.rebalance, world.random)
    claims = OwnedClaims(_position_rule(settings))
    rules = CommitRules.of(settings.delivery)
    listener = ListenerCalls(settings.consumer_id, world.observation)
    committer = OffsetCommitter(
        world.offset_store, settings.group_id, clock=world.clock, observation=world.observation
    )
    steps = RebalanceSteps(
        settings,
        world,
        claims=claims,
        committer=committer,
        automatic=rules.automatic if settings.auto_commit else None,
        listener=listener,
    )
    commits = CommitService(settings, world, claims=claims, committer=committer, rules=rules)
    control = ControlThread(settings, world, core=core, claims=claims, steps=steps, commits=commits)
    return MemberRuntime(core=core, claims=claims, listener=listener, control=control)


def _position_rule(settings: MemberSettings) -> PositionRule:
    if settings.delivery.commits_ahead:
        return COMMITTED
    return CONSUMED if settings.auto_commit else DELIVERED
