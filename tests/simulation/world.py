"""ZooKeeper, brokers with their logs, and the members of one group, driven by the scheduler."""

from collections.abc import Callable
from random import Random

from tests.fakes.memory_zk import MemoryZkServer, MemoryZkStore
from tests.simulation.kernel import SimClock
from tests.simulation.ledger import Ledger, Violation
from tests.simulation.logs import PartitionLog, owner_of, partition_texts
from tests.simulation.member import GROUP, SimMember, Surroundings
from tests.simulation.plans import MemberPlan
from tests.simulation.product import Product
from tests.simulation.store import WatchedTree
from zkconsumer.model import TopicPartition
from zkconsumer.zk.store import DeleteOp, Op, ZNode

SESSION_TIMEOUT_MS = 6_000
OWNERS = f"/consumers/{GROUP}/owners/"
OFFSETS = f"/consumers/{GROUP}/offsets/"
_BROKER = b'{"jmx_port":-1,"timestamp":"1","host":"h","version":1,"port":9092}'


class World:
    """Everything that can happen, each as a method; it makes no random choices of accidents.

    Attributes:
        members: the members whose process lives.
        started: all members ever started, whose stopped tasks have to be ended.
        ghosts: sessions of dead processes, and when the server ends them.
        strangers: sessions of foreign members, and when they end.
        away: members without a connection, and when they reconnect.
        trace: the events: time, kind, and subjects.
    """

    def __init__(self, rng: Random, product: Product) -> None:
        self.rng = rng
        self.clock = SimClock()
        self.trace: list[tuple[object, ...]] = []
        self.server = MemoryZkServer(
            supports_multi=rng.random() < 0.85,
            delivery="queued",
            wall_ms=self.clock.wall_ms,
            session_timeout_ms=SESSION_TIMEOUT_MS,
        )
        self.tree = self.server.tree = WatchedTree(
            self.clock.wall_ms, (OWNERS, OFFSETS), self._written
        )
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.ledger = Ledger(self)
        self.members: list[SimMember] = []
        self.started: list[SimMember] = []
        self.ghosts: list[tuple[int, SimMember]] = []
        self.strangers: list[tuple[int, MemoryZkStore]] = []
        self.away: dict[SimMember, int] = {}
        self._sessions: dict[int, SimMember] = {}
        self._live: set[int] = set()
        self._ending = False
        self._serial = 0
        self._product = product
        self.admin = self.server.connect()
        self.brokers: set[int] = set()
        self._set_up()

    def _set_up(self) -> None:
        self.admin.ensure_paths(["/consumers", "/brokers/ids", "/brokers/topics"])
        for broker in range(self.rng.randint(1, 2)):
            self.start_broker(broker)

    def note(self, what: str, *about: object) -> None:
        """Add a line to the trace."""
        self.trace.append((self.clock.time_ms, what, *about))

    # --- what the ledger looks up -----------------------------------------------------------------

    @property
    def has_transactions(self) -> bool:
        """See ``Scene``."""
        return self.server.supports_multi

    def owner(self, tp: TopicPartition) -> ZNode | None:
        """See ``Scene``."""
        return self.tree.get(f"{OWNERS}{tp.topic}/{tp.partition}")

    def stored(self, tp: TopicPartition) -> int | None:
        """See ``Scene``."""
        node = self.tree.get(f"{OFFSETS}{tp.topic}/{tp.partition}")
        return None if node is None else int(node.data)

    def is_live(self, session_id: int) -> bool:
        """See ``Scene``."""
        return session_id in self._live

    def _written(self, op: Op, before: ZNode | None, session_id: int) -> None:
        path = op.path
        member = self._sessions.get(session_id)
        if path.startswith(OFFSETS) and path.count("/") == 5:
            if not isinstance(op, DeleteOp):
                tp = owner_of(path)
                self.note("offset", member and member.name, str(tp), self.stored(tp))
                was = None if before is None else int(before.data)
                self.ledger.committed(member, session_id, tp, was)
        elif path.startswith(OWNERS) and path.count("/") == 5:
            tp = owner_of(path)
            self.note(type(op).__name__, member and member.name, str(tp))
            if isinstance(op, DeleteOp) and not self._ending:
                self._owner_deleted(tp, before, session_id, blindly=op.version < 0)

    def _owner_deleted(
        self, tp: TopicPartition, before: ZNode | None, session_id: int, *, blindly: bool
    ) -> None:
        assert before is not None
        member = self._sessions.get(session_id)
        if before.ephemeral_owner == session_id:
            if member is not None:
                self.ledger.released(member, session_id, tp)
            return
        # By a stranger, or by a member that it robbed, if another member created the node again
        # between reading and deleting: then the version is the same.
        if member is not None and (blindly or not self.ledger.was_robbed(tp, session_id)):
            raise Violation(f"{member.name} deletes the owner node of {tp}, which is another's")
        victim = self._sessions.get(before.ephemeral_owner)
        self.ledger.robbed(tp, victim, before.ephemeral_owner)

    # --- cluster ----------------------------------------------------------------------------------

    def start_broker(self, broker: int) -> None:
        """Start a broker."""
        self.brokers.add(broker)
        self.admin.create(f"/brokers/ids/{broker}", _BROKER, ephemeral=False)

    def stop_broker(self, broker: int) -> None:
        """Stop a broker, whose partitions are unavailable until another leads them."""
        self.brokers.discard(broker)
        self.admin.delete_many([f"/brokers/ids/{broker}"])

    def grow(self, topic: str, count: int) -> None:
        """Create a topic with this many partitions, or add partitions to it."""
        for number in range(count):
            tp = TopicPartition(topic, number)
            if tp not in self.logs:
                start = self.rng.choice((0, 0, 7))
                self.logs[tp] = PartitionLog(self.rng.randrange(2), start)
        self.admin.set_or_create_many({f"/brokers/topics/{topic}": partition_texts(count)})

    def partition_count(self, topic: str) -> int:
        """Return how many partitions a topic has."""
        return sum(tp.topic == topic for tp in self.logs)

    # --- members and their sessions ---------------------------------------------------------------

    def start_member(self, plan: MemberPlan) -> SimMember:
        """Start a process that connects and creates its streams."""
        self._serial += 1
        around = Surroundings(
            server=self.server,
            clock=self.clock,
            rng=self.rng,
            ledger=self.ledger,
            note=self.note,
            product=self._product,
        )
        member = SimMember(plan, around, self._serial)
        self.members.append(member)
        self.started.append(member)
        self._take_session(member)
        member.store.good_bye = lambda: self._good_bye(member)
        self.note("member", member.name, hex(member.store.session_id))
        member.join()
        return member

    def _take_session(self, member: SimMember) -> None:
        session_id = member.store.session_id
        self._sessions[session_id] = member
        self._live.add(session_id)

    def member_of(self, session_id: int) -> SimMember | None:
        """Return the member that has or had this session."""
        return self._sessions.get(session_id)

    def crash(self, member: SimMember, expires_ms: int) -> None:
        """Kill a process, whose session stays until it expires."""
        self.note("crash", member.name)
        self.members.remove(member)
        member.crash()
        self.ghosts.append((expires_ms, member))
        self.away.pop(member, None)

    def gone(self, member: SimMember) -> None:
        """Record that a process left and ended."""
        self.note("gone", member.name)
        self.members.remove(member)
        self.away.pop(member, None)

    def bury(self, member: SimMember) -> None:
        """Expire the session of a dead process."""
        self.note("ghost expires", member.name)
        raw = member.store.raw
        self._end(raw.session_id, lambda: self.server.close_session(raw))

    def expire(self, member: SimMember) -> None:
        """Expire a session on the server; a connected client gets a new one at once."""
        raw = member.store.raw
        if raw.closed or not self.is_live(raw.session_id):
            return
        self.note("expire", member.name, hex(raw.session_id))
        member.store.breaks += 1
        self._end(raw.session_id, lambda: self.server.expire(raw.session_id))
        if raw.connected:
            member.connected_ms = self.clock.time_ms
            self._take_session(member)

    def _good_bye(self, member: SimMember) -> None:
        raw = member.store.raw
        self._end(raw.session_id, lambda: raw.close(0))

    def _end(self, session_id: int, how: Callable[[], None]) -> None:
        self._live.discard(session_id)
        self._ending = True
        try:
            how()
        finally:
            self._ending = False

    def close_session(self, member: SimMember) -> None:
        """Close a process's session, whatever its control thread is doing."""
        self.note("close session", member.name)
        member.store.close()

    def disconnect(self, member: SimMember, until_ms: int) -> None:
        """Break a client's connection."""
        raw = member.store.raw
        if raw.connected:
            self.note("disconnect", member.name)
            member.store.breaks += 1
            self.server.disconnect(raw.session_id)
            self.away[member] = until_ms

    def reconnect(self, member: SimMember) -> None:
        """Reconnect a client, in a new session if the old one expired."""
        self.note("reconnect", member.name)
        del self.away[member]
        raw = member.store.raw
        if not raw.closed:
            member.connected_ms = self.clock.time_ms
            self.server.reconnect(raw.session_id)
            self._take_session(member)

    # --- operators and strangers ------------------------------------------------------------------

    def delete_node(self, path: str) -> None:
        """Delete a node as an outsider."""
        self.note("delete", path)
        self.admin.delete_many([path])

    def rob(self, tp: TopicPartition, *, noticed: bool) -> None:
        """Delete an owner node unread, as a member of the original with an old view does."""
        self.delete_node(f"{OWNERS}{tp.topic}/{tp.partition}")
        if noticed:
            self.touch_members()

    def take_over(self, tp: TopicPartition, until_ms: int) -> None:
        """Read and commit a robbed partition for a while, as a member of the original does."""
        stranger = self.server.connect()
        if not stranger.create(f"{OWNERS}{tp.topic}/{tp.partition}", b"stranger-0", ephemeral=True):
            stranger.close()
            return
        log, stored = self.logs[tp], self.stored(tp)
        low = log.start if stored is None else stored
        high = self.rng.randint(low, max(low, log.end))
        self.ledger.read_by_others(tp, low, high)
        self.note("stranger", str(tp), low, high)
        stranger.set_or_create_many({f"{OFFSETS}{tp.topic}/{tp.partition}": b"%d" % high})
        self.strangers.append((until_ms, stranger))

    def touch_members(self) -> None:
        """Let a stranger join and leave, so that watchers of the members read them again."""
        path = f"/consumers/{GROUP}/ids"
        if self.tree.get(path) is not None:
            self.admin.create(f"{path}/stranger", b"{}", ephemeral=True)
            self.admin.delete_many([f"{path}/stranger"])
