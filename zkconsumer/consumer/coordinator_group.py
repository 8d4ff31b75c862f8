"""Creates the member of a coordinator's group, from the configuration.

Only consumers in such a group load this module, and the membership below it.
"""

import random
from collections.abc import Callable

from zkconsumer.clock import Clock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.session import PollSession
from zkconsumer.membership.coordinator.assembly import build_member
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.polled.member import GroupMember
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.scope import ThreadScope


def group_settings_of(config: PollConfig) -> GroupSettings:
    """Return the settings of the group member."""
    return GroupSettings(
        strategies=config.strategies,
        instance_id=config.group_instance_id,
        session_timeout_ms=config.session_timeout_ms,
        heartbeat_interval_ms=config.heartbeat_interval_ms,
        max_poll_interval_ms=config.max_poll_interval_ms,
        retry_backoff_ms=config.retry_backoff_ms,
        retry_backoff_max_ms=config.retry_backoff_max_ms,
        request_timeout_ms=config.request_timeout_ms,
    )


def coordinator_member(  # noqa: PLR0913 - one part a line, all by name
    config: PollConfig,
    session: PollSession,
    *,
    dialer: BrokerDialer,
    client: ClusterClient,
    wake: Callable[[], None],
    scope: ThreadScope,
    clock: Clock,
) -> GroupMember:
    """Create the member and start its threads; contact no broker.

    Args:
        config: the configuration, with a ``group_id``.
        session: called when partitions come and go.
        dialer: opens the member's connections.
        client: finds the coordinator.
        wake: wakes the caller's thread.
        scope: owns the member's threads.
        clock: the time.

    Raises:
        ConfigError: a strategy does not exist.
    """
    assert config.group_id is not None
    threads = build_member(
        GroupTerms(
            group_id=config.group_id,
            settings=group_settings_of(config),
            rack_id=config.client_rack or None,
        ),
        dialer=dialer,
        cluster=client,
        wake=wake,
        on_group_topics=session.watch_for_group,
        clock=clock,
        random=random.random,
    )
    return GroupMember(threads, handler=session, scope=scope)
