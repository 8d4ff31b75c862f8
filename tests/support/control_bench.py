"""Members of one group on an in-memory ZooKeeper, whose control threads a test runs by hand.

Nothing runs by itself: ``Group.settle`` lets each member in turn process its mailbox, and what is
due by the group's clock. Fetching is only recorded; a test acts as fetcher and stream by offering
chunks and iterating.
"""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Literal, TypedDict, Unpack

from tests.fakes.memory_zk import MemoryZkServer
from tests.support.chunks import chunk_of, ignore
from tests.support.manual_clock import ManualClock
from tests.support.recording_observer import RecordingObserver
from zkconsumer.assignment.filters import Whitelist
from zkconsumer.clock import Clock
from zkconsumer.config import ConsumerConfig
from zkconsumer.connector.assembly import ConnectorComponents
from zkconsumer.connector.measuring.measuring import Measuring
from zkconsumer.errors import ConsumerTimeout
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.fetch.leader_finder import LeaderFinder
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.zookeeper.assembly import build_member
from zkconsumer.membership.zookeeper.configured import MemberContext
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings
from zkconsumer.membership.zookeeper.threads.environment import MemberSettings, MemberWorld
from zkconsumer.membership.zookeeper.threads.messages import (
    CloseRequest,
    CommitAheadRequest,
    CommitRequest,
    JoinRequest,
    WithdrawRequest,
)
from zkconsumer.membership.zookeeper.threads.subscription import (
    FilterSubscription,
    StaticSubscription,
)
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.observe import SILENT, MemberName, Observation
from zkconsumer.offsets.topic_checked import TopicChecked
from zkconsumer.offsets.wiring import OffsetSide
from zkconsumer.offsets.zookeeper import ZookeeperOffsetStore
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.budget import ByteBudget
from zkconsumer.streams.chunk_queue import ChunkQueue
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.gate import DeliveryGate
from zkconsumer.streams.poison import RAISE
from zkconsumer.streams.stream import KafkaStream
from zkconsumer.zk.registry import GroupRegistry
from zkconsumer.zk.session import SessionEvent, SessionState
from zkconsumer.zk.store import SetOp
from zkconsumer.zk.topic_nodes import topic_czxids

GROUP = "g"
AUTO_COMMIT_MS = 1_000
BACKOFF_MS = 2_000


class RecordingLeaderFinder(LeaderFinder):
    """A leader finder that only records what it should fetch."""

    def __init__(self) -> None:
        self.started: list[tuple[PartitionClaim, int | None]] = []
        self.woken = 0

    def add(self, claims: Iterable[tuple[PartitionClaim, int | None]]) -> None:
        """See ``LeaderFinder``."""
        self.started += list(claims)

    def wake(self) -> None:
        """See ``LeaderFinder``."""
        self.woken += 1


class MemberOptions(TypedDict, total=False):
    """The options of a ``ControlledMember``."""

    auto_commit: bool
    max_retries: int
    backoff_ms: int
    audit_interval_ms: int
    delivery: Delivery


class ControlledMember:
    """The parts below a connector's public interface, without threads and brokers."""

    def __init__(
        self,
        group: "Group",
        name: str,
        *,
        auto_commit: bool = True,
        max_retries: int = 4,
        backoff_ms: int = BACKOFF_MS,
        audit_interval_ms: int = 0,
        delivery: Delivery = Delivery.AT_LEAST_ONCE,
    ) -> None:
        self.consumer_id = f"{GROUP}_{name}"
        self.clock = group.time
        self.store = group.server.connect()
        self.fetching = RecordingLeaderFinder()
        self.registry = GroupRegistry(self.store, GROUP)
        self.offsets = TopicChecked(
            ZookeeperOffsetStore(self.store, GROUP, guard=self.registry),
            partial(topic_czxids, self.store),
        )
        self.observed = RecordingObserver()
        self.delivery = delivery
        self.runtime = member = build_member(
            MemberSettings(
                group_id=GROUP,
                rebalance=RebalanceSettings(
                    consumer_id=self.consumer_id,
                    max_retries=max_retries,
                    backoff_ms=backoff_ms,
                    audit_interval_ms=audit_interval_ms,
                ),
                auto_commit=auto_commit,
                auto_commit_interval_ms=AUTO_COMMIT_MS,
                delivery=delivery,
            ),
            MemberWorld(
                store=self.store,
                registry=self.registry,
                offset_store=self.offsets,
                fetching=self.fetching,
                clock=group.time,
                random=lambda: 0.0,
                observation=Observation(MemberName(GROUP, self.consumer_id), (self.observed,)),
            ),
        )
        self.core, self.claims, self.control = member.core, member.claims, member.control
        self.gate = DeliveryGate(group.time, 1_000)
        self.listener = member.listener
        self.last_join: JoinRequest | None = None
        self.queues: dict[str, tuple[ChunkQueue, ...]] = {}
        self._streams: dict[tuple[str, int], KafkaStream[bytes, bytes]] = {}
        self.store.on_session(self._on_notice)
        self.control.mailbox.put(ev.SessionStarted(self.store.session_id))

    def _on_notice(self, event: SessionEvent) -> None:
        match event.state:
            case SessionState.CONNECTED:
                self.control.mailbox.put(ev.SessionStarted(event.session_id))
            case SessionState.LOST:
                self.claims.fence(event.session_id)
                self.control.mailbox.put(ev.SessionEnded(event.session_id))
            case SessionState.SUSPENDED | SessionState.DEAD:
                pass

    # --- the caller's part ------------------------------------------------------------------------

    def join(self, topics: Mapping[str, int] | Whitelist) -> JoinRequest:
        """Request to join; the request completes in the group's next ``settle``."""
        if isinstance(topics, Whitelist):
            shared = (ChunkQueue(100),)
            self.queues = {topics.pattern: shared}
            request = JoinRequest(FilterSubscription(topics, shared))
        else:
            self.queues = {
                topic: tuple(ChunkQueue(100) for _ in range(count))
                for topic, count in topics.items()
            }
            request = JoinRequest(StaticSubscription(self.queues))
        self.control.mailbox.put(request)
        self.last_join = request
        return request

    def withdraw(self) -> None:
        """Withdraw the last join request."""
        assert self.last_join is not None
        self.control.mailbox.put(WithdrawRequest(self.last_join))

    def commit(self, offsets: Mapping[TopicPartition, int] | None = None) -> CommitRequest:
        """Request a commit of these offsets, or of what was consumed."""
        request = _commit_request(offsets)
        self.control.mailbox.put(request)
        return request

    def commit_inside(self, offsets: Mapping[TopicPartition, int] | None = None) -> int:
        """Commit as a listener does, on the control thread; return the number of partitions."""
        request = _commit_request(offsets)
        self.control.commit(request)
        return request.reply.wait(0)[0] or 0

    def close(self) -> CloseRequest:
        """Request a close, which ``settle`` completes. Its ZooKeeper session stays."""
        request = CloseRequest()
        self.control.mailbox.put(request)
        return request

    def stream(self, topic: str = "t", number: int = 0) -> KafkaStream[bytes, bytes]:
        """Return one of its streams, which raises ConsumerTimeout instead of waiting."""
        kept = self._streams.get((topic, number))
        if kept is None:
            kept = KafkaStream(
                self.queues[topic][number],
                clock=self.clock,
                timeout_ms=0,
                delivery=self.delivery,
                commit_ahead=self._commit_ahead,
            )
            self._streams[topic, number] = kept
        return kept

    def _commit_ahead(self, claim: PartitionClaim, offset: int) -> bool:
        """Handle at once the request that a stream's thread would wait for."""
        request = CommitAheadRequest(claim, offset)
        self.control._handle(request)
        return bool(request.reply.wait(0)[0])

    # --- the fetcher's part, and the member's state -----------------------------------------------

    def owned(self) -> dict[TopicPartition, PartitionClaim]:
        """The member's claims by partition."""
        return {claim.topic_partition: claim for claim in self.claims.claims()}

    def starts(self) -> dict[TopicPartition, int | None]:
        """The latest start offset of each partition."""
        return {claim.topic_partition: offset for claim, offset in self.fetching.started}

    def deliver(self, tp: TopicPartition, offsets: Sequence[int]) -> None:
        """Queue these records, as its fetcher does."""
        claim = self.owned()[tp]
        if claim.consumed_offset is None:
            claim.consumed_offset = offsets[0]
        assert claim.sink.offer(chunk_of(claim, offsets), ignore)

    def consume(self, count: int, topic: str = "t", number: int = 0) -> list[tuple[int, int]]:
        """Take ``count`` messages from a stream, as its caller does; the last stays in hand."""
        stream = self.stream(topic, number)
        got = [next(stream) for _ in range(count)]
        return [(message.partition, message.offset) for message in got]

    def pump(self) -> bool:
        """Process what is queued or due; return whether there was anything."""
        worked = False
        while not self.control.done and (self._waiting() or self._due() or self._closing()):
            if self._closing():
                self.control.run()
            else:
                self.control._turn()
            worked = True
        return worked

    def _waiting(self) -> bool:
        return bool(self.control.mailbox._items) or bool(self.control._backlog)

    def _due(self) -> bool:
        now_ms = self.clock.now_ms()
        dues = (self.core.next_deadline_ms(), self.control._commits.due_ms)
        return any(due is not None and due <= now_ms for due in dues)

    def _closing(self) -> bool:
        return self.control._close is not None


def _commit_request(offsets: Mapping[TopicPartition, int] | None) -> CommitRequest:
    if offsets is None:
        return CommitRequest()
    return CommitRequest({tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()})


def parts_of(
    member: ControlledMember, config: ConsumerConfig, *, clock: Clock, **scopes: ThreadScope
) -> ConnectorComponents:
    """Return a connector's parts, taken from a member of the bench."""
    name = MemberName(GROUP, member.consumer_id)
    measuring = Measuring(name, client_id=GROUP, clock=clock, random=lambda: 0.5)
    measuring.watch(member.claims.reading, tuple)
    return ConnectorComponents(
        context=MemberContext(
            config=config,
            store=member.store,
            clock=clock,
            name=name,
            observation=SILENT,
            registry=member.registry,
            offsets=OffsetSide(store=member.offsets, unguarded=member.offsets),
            fork_guard=ForkGuard(member.consumer_id),
            gate=member.gate,
            mailbox=member.control.mailbox,
        ),
        member=member.runtime,
        control_scope=scopes.get("control_scope") or ThreadScope(member.consumer_id),
        fetch_scope=scopes.get("fetch_scope") or ThreadScope(member.consumer_id),
        poison=RAISE,
        budget=ByteBudget(1 << 26),
        measuring=measuring,
    )


class Group:
    """A ZooKeeper with one broker and topic t, and members that run in turn.

    Args:
        partitions: the number of partitions of topic t; 0: no such topic.
        time: the members' clock, if not the one that ``pass_time`` advances.
        delivery: when watches and session events are called, see ``MemoryZkServer``.
    """

    def __init__(
        self,
        partitions: int = 2,
        time: Clock | None = None,
        delivery: Literal["immediate", "queued"] = "immediate",
    ) -> None:
        self.server = MemoryZkServer(delivery=delivery)
        self.clock = ManualClock()
        self.time: Clock = time or self.clock
        self.admin = self.server.connect()
        self.admin.ensure_paths(["/consumers", "/brokers/ids", "/brokers/topics"])
        self.admin.create(
            "/brokers/ids/0",
            b'{"jmx_port":-1,"timestamp":"1","host":"h","version":1,"port":9092}',
            ephemeral=False,
        )
        if partitions:
            self.set_topic("t", partitions)
        self.members: list[ControlledMember] = []

    def member(self, name: str, **settings: Unpack[MemberOptions]) -> ControlledMember:
        """Return a new member that has not joined yet."""
        member = ControlledMember(self, name, **settings)
        self.members.append(member)
        return member

    def joined(
        self,
        name: str,
        topics: Mapping[str, int] | None = None,
        **settings: Unpack[MemberOptions],
    ) -> ControlledMember:
        """Return a new member that has joined, by default for topic t, with all settled."""
        member = self.member(name, **settings)
        request = member.join({"t": 1} if topics is None else topics)
        self.settle()
        assert request.reply.wait(0) == (None, True)
        return member

    def settle(self) -> None:
        """Let all members work until nothing is queued or due."""
        for _ in range(200):
            if not any([member.pump() for member in self.members]):  # noqa: C419 - all of them
                return
        raise AssertionError("the group does not come to rest")

    def pass_time(self, delta_ms: int) -> None:
        """Advance the clock, and let all members work."""
        self.clock.advance(delta_ms)
        self.settle()

    # --- ZooKeeper --------------------------------------------------------------------------------

    def set_topic(self, topic: str, partitions: int) -> None:
        """Create a topic, or add partitions to it."""
        replicas = ",".join(f'"{number}":[0]' for number in range(partitions))
        data = f'{{"version":1,"partitions":{{{replicas}}}}}'.encode()
        self.write(f"/brokers/topics/{topic}", data)

    def write(self, path: str, data: bytes) -> None:
        """Set or create a node."""
        self.admin.set_or_create_many({path: data})

    def text(self, path: str) -> str | None:
        """A node's data as text, or None."""
        node = self.admin.get_many([path])[0]
        return None if node is None else node.data.decode()

    def children(self, path: str) -> list[str]:
        """The names of a node's children."""
        return self.admin.children_many([path])[0] or []

    def owners(self, topic: str = "t") -> dict[int, str]:
        """The data of each owner node, by partition."""
        root = f"/consumers/{GROUP}/owners/{topic}"
        return {int(child): self.text(f"{root}/{child}") or "" for child in self.children(root)}

    def ids(self) -> list[str]:
        """The ids of registered members."""
        return self.children(f"/consumers/{GROUP}/ids")

    def offset(self, partition: int, topic: str = "t") -> str | None:
        """The committed offset of a partition, as text."""
        return self.text(f"/consumers/{GROUP}/offsets/{topic}/{partition}")

    def fire_watch(self, path: str) -> None:
        """Write a node's own data again, so that watches fire."""
        node = self.admin.get_many([path])[0]
        assert node is not None
        self.admin.write_many([SetOp(path, node.data)])


def consume_all(stream: KafkaStream[bytes, bytes]) -> list[tuple[int, int]]:
    """Return (partition, offset) of all messages a stream has now; all count as consumed."""
    got: list[tuple[int, int]] = []
    with contextlib.suppress(ConsumerTimeout):
        got.extend((message.partition, message.offset) for message in stream)
    return got


def own_as_stranger(group: Group, *partitions: int) -> list[str]:
    """Let another client own partitions of topic t; return the owner nodes."""
    group.admin.ensure_paths(["/consumers/g/owners/t"])
    paths = [f"/consumers/g/owners/t/{partition}" for partition in partitions]
    for path in paths:
        group.admin.create(path, b"g_x-0", ephemeral=True)
    return paths
