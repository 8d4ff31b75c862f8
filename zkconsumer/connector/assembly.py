"""Puts a connector together: who is made of what, in one place."""

import logging
import random
import socket
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.cluster.metadata import MetadataReader
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector import rebalance_events as ev
from zkconsumer.connector.autocommit import CommitTimer
from zkconsumer.connector.brokers import BrokerList
from zkconsumer.connector.commits import OffsetCommitter
from zkconsumer.connector.control import ControlParts, ControlThread, ThreadDied
from zkconsumer.connector.ownership import OwnershipBook
from zkconsumer.connector.rebalance import RebalanceCore
from zkconsumer.connector.rebalance_state import RebalanceSettings
from zkconsumer.connector.steps import Collaborators, RebalanceSteps, StepSettings
from zkconsumer.errors import ConfigError
from zkconsumer.fetch.leader_finder import ClusterAccess
from zkconsumer.fetch.manager import FetchManager
from zkconsumer.fetch.settings import FetchSettings, ResetPolicy
from zkconsumer.net.connector import BrokerConnector
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.scope import ThreadScope
from zkconsumer.zk import kazoo_store
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import CLOSE_TIMEOUT_MS, ZkStore

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What a connector is made of, as far as its public face needs it."""

    consumer_id: str
    store: ZkStore
    control: ControlThread
    control_scope: ThreadScope
    fetch_scope: ThreadScope
    clock: Clock = field(default_factory=SystemClock)

    @property
    def session_timeout_ms(self) -> int:
        """The ZooKeeper session time-out that the server granted."""
        return self.store.negotiated_timeout_ms

    def close(self, timeout_ms: int) -> None:
        """End the threads and the ZooKeeper session, whatever became of the control thread.

        Args:
            timeout_ms: how long all of it may take. What did not end by then ends later.
        """
        deadline_ms = self.clock.now_ms() + timeout_ms
        # The session first: with it go our nodes, and a control thread that hangs on it wakes.
        self.store.close(min(timeout_ms, CLOSE_TIMEOUT_MS))
        left: list[str] = []
        for scope in (self.fetch_scope, self.control_scope):
            left += scope.close(max(0, deadline_ms - self.clock.now_ms()))
        if left:
            log.error("%s: still running after %d ms: %s", self.consumer_id, timeout_ms, left)


def new_consumer_id(config: ConsumerConfig, clock: Clock) -> str:
    """The member's name: group, host, milliseconds, and eight hex digits of a random UUID.

    Source: Kafka 0.8.2.2 ``ZookeeperConsumerConnector``, where it is the same to the letter.
    """
    if config.consumer_id is not None:
        return f"{config.group_id}_{config.consumer_id}"
    upper_half = f"{uuid.uuid4().int >> 64:x}"
    return f"{config.group_id}_{socket.gethostname()}-{clock.wall_ms()}-{upper_half[:8]}"


class ConnectZooKeeper(Protocol):
    """Opens a session; see ``kazoo_store.connect``."""

    def __call__(
        self, zookeeper_connect: str, /, *, session_timeout_ms: int, connection_timeout_ms: int
    ) -> ZkStore:
        """Connect."""
        ...


def assemble(
    config: ConsumerConfig, clock: Clock, connect: ConnectZooKeeper = kazoo_store.connect
) -> Parts:
    """Connect to ZooKeeper and wire everything up; nothing is written and no thread of ours runs.

    Raises:
        ConfigError: ``offsets.storage`` is not ZooKeeper; or see ``kazoo_store.connect``.
        RegistryError: see ``kazoo_store.connect``.
    """
    _refuse_offsets_in_kafka(config)
    store = connect(
        config.zookeeper_connect,
        session_timeout_ms=config.zookeeper_session_timeout_ms,
        connection_timeout_ms=config.zookeeper_connection_timeout_ms,
    )
    try:
        return _wire(config, clock, store)
    except BaseException:
        # A connection that broke again, or Ctrl-C: nobody else could end the session.
        store.close(config.shutdown_timeout_ms)
        raise


def _wire(config: ConsumerConfig, clock: Clock, store: ZkStore) -> Parts:
    consumer_id = new_consumer_id(config, clock)
    registry = GroupRegistry(store, config.group_id)
    # A commit held up through a loss of the session must not overwrite the next owner's.
    offset_store = ZookeeperOffsetStore(store, config.group_id, guard=registry)
    committer = OffsetCommitter(offset_store, config.group_id)
    book = OwnershipBook()
    fetch_scope = ThreadScope(consumer_id)
    steps = RebalanceSteps(
        StepSettings(
            consumer_id=consumer_id,
            exclude_internal_topics=config.exclude_internal_topics,
            auto_commit=config.auto_commit_enable,
        ),
        Collaborators(
            registry=registry,
            offset_store=offset_store,
            committer=committer,
            book=book,
            fetching=_fetching(
                config,
                registry,
                fetch_scope,
                clock,
                lambda error: control.mailbox.put(ThreadDied(error)),
            ),
            clock=clock,
        ),
        lambda cause: control.mailbox.put(ev.Triggered(cause)),
    )
    control = ControlThread(
        ControlParts(
            group_id=config.group_id,
            core=_core(config, consumer_id, store),
            steps=steps,
            book=book,
            committer=committer,
            timer=CommitTimer(
                enabled=config.auto_commit_enable,
                interval_ms=config.auto_commit_interval_ms,
                now_ms=clock.now_ms(),
            ),
            store=store,
            clock=clock,
        )
    )
    _listen(store, control, book)
    return Parts(
        consumer_id=consumer_id,
        store=store,
        control=control,
        control_scope=ThreadScope(consumer_id),
        fetch_scope=fetch_scope,
    )


def _refuse_offsets_in_kafka(config: ConsumerConfig) -> None:
    if config.offsets_storage != "zookeeper":
        # The group's positions are not where we would look: to go on from there loses or repeats.
        raise ConfigError(
            f"offsets.storage={config.offsets_storage}: offsets in Kafka are not served yet; let "
            f"all members of group {config.group_id} keep them in ZooKeeper (the original does so "
            "with offsets.storage=zookeeper, after a time with dual.commit.enabled=true)"
        )


def _core(config: ConsumerConfig, consumer_id: str, store: ZkStore) -> RebalanceCore:
    return RebalanceCore(
        RebalanceSettings(
            consumer_id=consumer_id,
            strategy=config.partition_assignment_strategy,
            max_retries=config.rebalance_max_retries,
            backoff_ms=config.rebalance_backoff_ms,
            session_timeout_ms=store.negotiated_timeout_ms,
        ),
        random.random,
    )


def _listen(store: ZkStore, control: ControlThread, book: OwnershipBook) -> None:
    """Session events go into the mailbox; a lost session also stops delivery there and then."""

    def hear(event: SessionEvent) -> None:
        match event.state:
            case SessionState.CONNECTED:
                control.mailbox.put(ev.SessionStarted(event.session_id))
            case SessionState.LOST:
                book.fence(event.session_id)
                control.mailbox.put(ev.SessionEnded(event.session_id))
            case SessionState.SUSPENDED:
                log.warning("ZooKeeper does not answer; session 0x%x goes on", event.session_id)

    store.on_session(hear)
    # Connected before anyone listened. The last word must be the session in force: one that ended
    # meanwhile has been heard of already, and its start said late would put it in place again.
    said = None
    while said != store.session_id:
        said = store.session_id
        control.mailbox.put(ev.SessionStarted(said))


def _fetching(
    config: ConsumerConfig,
    registry: GroupRegistry,
    scope: ThreadScope,
    clock: Clock,
    on_death: Callable[[BaseException], None],
) -> FetchManager:
    tcp = TcpConnector(receive_buffer_bytes=config.socket_receive_buffer_bytes)
    connector = BrokerConnector(
        tcp,
        client_id=config.client_id,
        timeout_ms=config.socket_timeout_ms,
    )
    metadata = MetadataReader(
        connector.open, timeout_ms=config.socket_timeout_ms, shuffle=random.shuffle
    )

    def stop() -> None:
        tcp.stop()
        metadata.stop()

    return FetchManager(
        access=ClusterAccess(
            list_brokers=BrokerList(registry).read,
            read_metadata=metadata.read,
            open_connection=connector.open,
            stop=stop,
        ),
        settings=_fetch_settings(config),
        scope=scope,
        clock=clock,
        on_death=on_death,
    )


def _fetch_settings(config: ConsumerConfig) -> FetchSettings:
    smallest = config.auto_offset_reset == "smallest"
    return FetchSettings(
        fetch_bytes=config.fetch_message_max_bytes,
        growth_max_bytes=config.fetch_message_growth_max_bytes,
        max_decompressed_bytes=config.fetch_max_decompressed_bytes,
        min_bytes=config.fetch_min_bytes,
        max_wait_ms=config.fetch_wait_max_ms,
        request_timeout_ms=config.socket_timeout_ms,
        reset=ResetPolicy.SMALLEST if smallest else ResetPolicy.LARGEST,
        leader_backoff_ms=config.refresh_leader_backoff_ms,
        fetcher_count=config.num_consumer_fetchers,
    )
