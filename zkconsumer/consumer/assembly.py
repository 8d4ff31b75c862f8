"""Assembles a poll consumer from its components."""

import logging
import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.metadata_manager import MetadataManager
from zkconsumer.cluster.view import ClusterView
from zkconsumer.consumer.autocommit import AutoCommit
from zkconsumer.consumer.automatic_commits import AutomaticCommits
from zkconsumer.consumer.committed_lookup import CommittedLookup
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.measuring.windows import WindowTerms
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import PollLoop
from zkconsumer.consumer.session import PollSession
from zkconsumer.consumer.settings_of import fetch_settings_of, policy_of
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.fetch.polled.engine import PollEngine
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.no_group import NoGroup
from zkconsumer.membership.protocol import Membership
from zkconsumer.model import Broker
from zkconsumer.net.negotiated import BrokerDialer
from zkconsumer.net.security import SecuritySettings, security_in
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.net.transport import Connector
from zkconsumer.scope import ThreadScope

if TYPE_CHECKING:
    from zkconsumer.membership.zookeeper.polled import ZookeeperGroup

log = logging.getLogger(__name__)


def assemble(
    config: PollConfig, clock: Clock | None = None, connector: Connector | None = None
) -> ConsumerComponents:
    """Create and connect the components; contact ZooKeeper if it keeps the group, but no broker.

    Raises:
        ConfigError: the TLS or SASL settings can't be used; or see ``consumer_config``
            and ``open_zookeeper_group``.
        RegistryError: ZooKeeper does not respond.
    """
    clock = clock or SystemClock()
    security = security_in(
        config.security_values,
        ssl_context=config.objects.ssl_context,
        token_provider=config.objects.sasl_oauth_token_provider,
    )
    zookeeper = None
    brokers: Sequence[Broker] = config.bootstrap_brokers()
    if config.zookeeper_connect is not None:
        zookeeper = _open_zookeeper(config, clock, security)
        brokers = zookeeper.brokers
    terms = WindowTerms(config.metrics_num_samples, config.metrics_sample_window_ms)
    measures = Measures(terms, clock)
    try:
        dialer = BrokerDialer(
            connector or TcpConnector(receive_buffer_bytes=config.receive_buffer_bytes),
            client_id=config.client_id,
            security=security,
            connect_timeout_ms=config.socket_connection_setup_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
            max_response_bytes=config.receive_message_max_bytes,
            max_entry_bytes=config.fetch_message_growth_max_bytes,
            clock=clock,
            traffic=measures,
        )
        return _Wiring(config, clock, dialer, measures, brokers).components(zookeeper)
    except BaseException:
        if zookeeper is not None:
            zookeeper.close()
        raise


def _open_zookeeper(
    config: PollConfig, clock: Clock, security: SecuritySettings
) -> "ZookeeperGroup":
    # This member and kazoo take a third of the import time, and few consumers need them.
    from zkconsumer.consumer.zookeeper_settings import consumer_config  # noqa: PLC0415
    from zkconsumer.membership.zookeeper.polled import open_zookeeper_group  # noqa: PLC0415

    return open_zookeeper_group(
        consumer_config(config),
        max_poll_interval_ms=config.max_poll_interval_ms,
        clock=clock,
        security=security,
    )


class _Wiring:
    """Creates the components of one consumer, each from those created before it."""

    def __init__(
        self,
        config: PollConfig,
        clock: Clock,
        dialer: BrokerDialer,
        measures: Measures,
        brokers: Sequence[Broker],
    ) -> None:
        self._config = config
        self._clock = clock
        self._dialer = dialer
        self._measures = measures
        self._name = f"consumer {config.client_id}"
        self._wakeup = Wakeup()
        self._scope = ThreadScope(self._name, clock=clock)
        # Filled later: the metadata manager is created before the users of its views.
        self._view_listeners: tuple[Callable[[ClusterView], None], ...] = ()
        self._client = ClusterClient(
            dialer,
            brokers,
            request_timeout_ms=config.request_timeout_ms,
            retry_backoff_ms=config.retry_backoff_ms,
            clock=clock,
            shuffle=random.shuffle,
        )
        self._metadata = MetadataManager(
            self._client,
            self._scope,
            refresh_ms=config.metadata_max_age_ms,
            backoff_ms=config.retry_backoff_ms,
            on_change=self._changed,
            on_failure=lambda _: self._wakeup.signal(),
            metadata_timeout_ms=config.request_timeout_ms,
            allow_auto_create=config.allow_auto_create_topics,
            clock=clock,
        )
        self._engine = PollEngine(
            dialer=dialer,
            client=self._client,
            metadata=self._metadata,
            settings=fetch_settings_of(config),
            scope=self._scope,
            wake=self._wakeup.signal,
            clock=clock,
            fetched=measures.fetched,
        )
        self._session = PollSession(
            self._commits(),
            self._engine,
            self._metadata,
            clock,
            exclude_internal_topics=config.exclude_internal_topics,
        )

    def components(self, zookeeper: "ZookeeperGroup | None") -> ConsumerComponents:
        config, engine, session, wakeup = self._config, self._engine, self._session, self._wakeup
        group = "" if config.group_id is None else f" of group {config.group_id}"
        guard = ForkGuard(f"{self._name}{group}")
        guard.on_fork(session.changed)
        try:
            membership = self._membership(zookeeper)
        except BaseException:
            self._scope.close(1_000)
            raise
        session.join(membership, self._starts(membership))
        self._view_listeners = (
            engine.cluster_changed,
            lambda _: session.saw_view(),
            membership.on_topics_changed,
            lambda _: wakeup.signal(),
        )
        one_caller = SingleCaller(guard)
        return ConsumerComponents(
            config=config,
            clock=self._clock,
            wakeup=wakeup,
            one_caller=one_caller,
            scope=self._scope,
            client=self._client,
            metadata=self._metadata,
            engine=engine,
            session=session,
            loop=PollLoop(
                session.turn,
                wakeup,
                self._clock,
                # A waiting poll counts as polling: it must not exceed the poll interval.
                most_ms=max(1, min(config.heartbeat_interval_ms, config.max_poll_interval_ms // 2)),
                death=self._scope.first_error,
                is_ending=lambda: one_caller.is_ending,
                gathering_wait_ms=partial(engine.gathering_wait_ms, config.max_poll_records),
            ),
            measures=self._measures,
            stops=(engine.stop, self._metadata.stop, self._client.stop, self._dialer.stop),
        )

    def _changed(self, view: ClusterView) -> None:
        """Pass a new view of the cluster to the listeners. Thread: the metadata manager's."""
        for listener in self._view_listeners:
            listener(view)

    def _view(self) -> ClusterView:
        return self._metadata.view

    def _commits(self) -> AutomaticCommits:
        config = self._config
        return AutomaticCommits(
            AutoCommit(
                enabled=config.enable_auto_commit and config.group_id is not None,
                interval_ms=config.auto_commit_interval_ms,
                retry_ms=config.retry_backoff_ms,
            ),
            self._clock,
            revoke_commit_ms=min(config.request_timeout_ms, config.session_timeout_ms // 2),
            callback=config.objects.default_offset_commit_callback,
        )

    def _membership(self, zookeeper: "ZookeeperGroup | None") -> Membership:
        config, session = self._config, self._session
        if zookeeper is not None:
            return zookeeper.member(session, self._wakeup.signal)
        if config.group_id is None:
            return NoGroup(session, self._view)
        # A fifth of the import, needed by groups only; loaded here, so that no poll waits for it.
        from zkconsumer.consumer.coordinator_settings import group_terms_of  # noqa: PLC0415
        from zkconsumer.membership.coordinator.assembly import build_member  # noqa: PLC0415
        from zkconsumer.membership.coordinator.polled.member import GroupMember  # noqa: PLC0415

        threads = build_member(
            group_terms_of(config.group_id, config),
            dialer=self._dialer,
            cluster=self._client,
            wake=self._wakeup.signal,
            on_group_topics=session.watch_for_group,
            clock=self._clock,
            random=random.random,
        )
        return GroupMember(threads, handler=session, scope=self._scope)

    def _starts(self, membership: Membership) -> StartPositions:
        config, lookup = self._config, None
        if config.group_id is not None:
            request = partial(membership.committed, timeout_ms=config.default_api_timeout_ms)
            lookup = CommittedLookup(request, self._scope, self._wakeup.signal)
        reads_new_whole = config.auto_offset_reset_new_partitions == "earliest"
        is_new = self._metadata.is_new if reads_new_whole else None
        return StartPositions(self._engine.seek, lookup, policy_of(config), is_new)
