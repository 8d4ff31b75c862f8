"""A broker that coordinates one group, for real threads, but without a network.

It serves as a member's ``BrokerDialer`` and ``ClusterClient``. The group itself is a
``FakeGroupCoordinator``; this module adds the encoding of each version, the offsets, and all kinds
of failures.
"""

import itertools
import queue
import threading
from collections import deque
from collections.abc import Collection, Mapping
from typing import TypeVar, cast

from tests.fakes.fake_group import Addressed, FakeGroupCoordinator, Terms
from tests.support.all_requests import decode_request
from tests.support.group_answers import join_response, refusal
from tests.support.offsets_double import OffsetsDouble
from zkconsumer.clock import SystemClock
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import ConnectFailed, ConnectionLost, RequestTimedOut, UnsupportedVersion
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.core.terms import from_wire, read_sticky_data, to_wire
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.wire.api import ApiKey, Request, Response
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.consumer_protocol import (
    ConsumerAssignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.group_members import (
    JoinGroupMember,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

R = TypeVar("R")

HERE = Broker(0, "broker", 9092)

OF_0_9: Mapping[ApiKey, int] = {
    ApiKey.JOIN_GROUP: 0,
    ApiKey.SYNC_GROUP: 0,
    ApiKey.HEARTBEAT: 0,
    ApiKey.LEAVE_GROUP: 0,
    ApiKey.OFFSET_COMMIT: 2,
    ApiKey.OFFSET_FETCH: 1,
}
"""The newest versions of a 0.9 broker."""

OF_0_8_2: Mapping[ApiKey, int] = {
    ApiKey.JOIN_GROUP: -1,
    ApiKey.OFFSET_COMMIT: 1,
    ApiKey.OFFSET_FETCH: 1,
}
"""The newest versions of a 0.8.2 broker; -1: it lacks the API."""

OF_0_8_1: Mapping[ApiKey, int] = {
    **OF_0_8_2,
    ApiKey.FIND_COORDINATOR: -1,
    ApiKey.OFFSET_COMMIT: 0,
    ApiKey.OFFSET_FETCH: 0,
}
"""The newest versions of a 0.8.1 broker, which stores offsets in ZooKeeper."""

OF_0_8_0: Mapping[ApiKey, int] = {
    **OF_0_8_1,
    ApiKey.OFFSET_COMMIT: -1,
    ApiKey.OFFSET_FETCH: -1,
}
"""The newest versions of a 0.8.0 broker, which has no API for offsets."""

_TICK_S = 0.005


class CoordinatorDouble:
    """A broker that is the coordinator of one group.

    Attributes:
        group: the group.
        offsets: the committed offsets.
        history: all commits in order.
        partitions: the number of partitions by topic.
        requested: every request received, in order, with its version.
        codes: error codes to answer with, by type of request; each is used once.
        attempts: the number of requests by type, answered or not.
        silent: the types of requests that get no response.
        sends_garbage: whether assignments are replaced by bytes that can't be decoded.
        refuses_connections: whether connecting fails.
        found: the coordinator that lookups return, or an error code.
        searches, dials: the number of coordinator lookups, and of connections.
    """

    def __init__(
        self,
        partitions: Mapping[str, int],
        *,
        versions: Mapping[ApiKey, int] | None = None,
        longest_session_ms: int = 1_800_000,
    ) -> None:
        self.group = FakeGroupCoordinator()
        self.partitions = {topic: tuple(range(count)) for topic, count in partitions.items()}
        self.requested: list[tuple[Request[Response], int]] = []
        self.codes: dict[type[object], deque[int]] = {}
        self.silent: set[type[object]] = set()
        self.refuses_connections = False
        self.sends_garbage = False
        self.found: Broker | int = HERE
        self.attempts: dict[type[object], int] = {}
        self.searches = 0
        self.dials = 0
        self.versions = dict(versions or {})
        self.lock = threading.RLock()
        self.group.member_id_required = self.newest(ApiKey.JOIN_GROUP, 9) >= 4
        self._offsets = OffsetsDouble(self.group, old=self.newest(ApiKey.OFFSET_FETCH, 7) < 2)
        self.offsets = self._offsets.stored
        self.history = self._offsets.history
        self._longest_session_ms = longest_session_ms
        self._clock = SystemClock()
        self._names = itertools.count(1)
        self._rounds = itertools.count(1)
        self._metadata: dict[int, dict[str, bytes]] = {}
        self._lines: dict[str, _Connection] = {}

    # --- as a cluster -------------------------------------------------------------------

    def coordinator(self, group_id: str, *, timeout_ms: int) -> Broker | int:
        """See ``ClusterClient``."""
        del group_id, timeout_ms
        self.searches += 1
        self._need(ApiKey.FIND_COORDINATOR)
        return self.found

    def coordinator_of_offsets(self, *, timeout_ms: int) -> Broker:
        """See ``ClusterClient``."""
        del timeout_ms
        self._need(ApiKey.OFFSET_FETCH)
        return HERE

    def _need(self, api: ApiKey) -> None:
        if self.newest(api, 0) < 0:
            raise UnsupportedVersion(f"{HERE}: it lacks {api.name}")

    def view(self, topics: Collection[str] | None = None, *, timeout_ms: int = 0) -> ClusterView:
        """See ``ClusterClient``."""
        del timeout_ms
        return ClusterView(
            brokers={0: HERE},
            leaders={},
            leaderless={},
            errors={},
            partitions={
                topic: numbers
                for topic, numbers in self.partitions.items()
                if topics is None or topic in topics
            },
        )

    # --- as a dialer --------------------------------------------------------------------

    def dial(self, broker: Broker, *, timeout_ms: int | None = None) -> "_Connection":
        """See ``BrokerDialer``."""
        del timeout_ms
        self.dials += 1
        if self.refuses_connections:
            raise ConnectFailed(f"{broker}: nobody listens")
        connection = _Connection(self, broker, f"line {next(self._names)}")
        with self.lock:
            self._lines[connection.name] = connection
        return connection

    def newest(self, api: ApiKey, ours: int) -> int:
        """The newest version that both sides support."""
        return min(ours, self.versions.get(api, ours))

    # --- faults -------------------------------------------------------------------------

    def refuse(self, kind: type[object], *codes: int) -> None:
        """Answer the next requests of that type with these error codes."""
        self.codes.setdefault(kind, deque()).extend(codes)

    def break_connections(self) -> None:
        """Break all connections."""
        with self.lock:
            lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            line.close()

    def remove_member(self, member_id: str) -> None:
        """Remove a member from the group, as if its session had expired."""
        with self.lock:
            gone = self.group.receive(
                "nobody", ev.SendLeave(member_id, "thrown out"), _SOME, self.now_ms()
            )
            self.deliver(gone)

    def kinds(self, kind: type[R]) -> list[R]:
        """Return the received requests of that type."""
        return [
            cast("R", request) for request, _ in list(self.requested) if isinstance(request, kind)
        ]

    # --- inside ---------------------------------------------------------------------------

    def now_ms(self) -> int:
        """The time by the clock of the test, ms."""
        return self._clock.now_ms()

    def tick(self) -> None:
        """Let the group act on the present time."""
        with self.lock:
            self.deliver(self.group.tick(self.now_ms()))

    def deliver(self, responses: list[Addressed]) -> None:
        """Pass the group's responses to the connections that wait for them."""
        for name, event in responses:
            if name in self._lines:
                self._lines[name].responses.put(self._response_to(event))

    def take(
        self, line: "_Connection", request: Request[Response], version: int
    ) -> Response | None:
        """Handle a request; return None if the group responds later."""
        with self.lock:
            self.requested.append((request, version))
            refusals = self.codes.get(type(request))
            code = refusals.popleft() if refusals else 0
            if code:
                return self._refused(request, code)
            match request:
                case JoinGroupRequest():
                    return self._join(line, request)
                case SyncGroupRequest():
                    self._request(line, self._sync(request), request.group_instance_id)
                case HeartbeatRequest(generation_id=generation, member_id=member_id):
                    beat = ev.SendHeartbeat(member_id, generation)
                    self._request(line, beat, request.group_instance_id)
                case LeaveGroupRequest(member_id=member_id, members=members):
                    for text in (*(member.member_id for member in members), member_id):
                        self._request(line, ev.SendLeave(text, ""), None)
                    return LeaveGroupResponse(error_code=0)
                case OffsetCommitRequest():
                    return self._offsets.commit(request)
                case OffsetFetchRequest():
                    return self._offsets.positions(request, in_kafka=version > 0)
                case _:
                    raise AssertionError(f"a member sends no {request}")
        return None

    def _refused(self, request: Request[Response], code: int) -> Response:
        if isinstance(request, OffsetCommitRequest):
            return self._offsets.commit(request, code)
        if isinstance(request, OffsetFetchRequest):
            return self._offsets.positions(request, code)
        return refusal(request, code)

    def _request(self, line: "_Connection", request: object, instance_id: str | None) -> None:
        member_id = getattr(request, "member_id", "")
        member = self.group.members.get(member_id)
        terms = member.terms if member is not None else _SOME
        if instance_id is not None and terms.instance_id != instance_id:
            terms = Terms(
                session_timeout_ms=0, rebalance_timeout_ms=0, strategies=(), instance_id=instance_id
            )
        requested = cast("ev.SendSync", request)
        self.deliver(self.group.receive(line.name, requested, terms, self.now_ms()))

    def _join(self, line: "_Connection", request: JoinGroupRequest) -> Response | None:
        if request.session_timeout_ms > self._longest_session_ms:
            return join_response(code=ErrorCode.INVALID_SESSION_TIMEOUT)
        rebalance_ms = request.rebalance_timeout_ms
        metadata = {protocol.name: bytes(protocol.metadata) for protocol in request.protocols}
        _, subscription = decode_subscription(request.protocols[0].metadata)
        remembered: frozenset[TopicPartition] = frozenset()
        if "sticky" in metadata:
            _, sticky = decode_subscription(metadata["sticky"])
            remembered, _ = read_sticky_data(sticky.user_data)
        round_ = next(self._rounds)
        self._metadata[round_] = metadata
        join = ev.SendJoin(
            round=round_,
            member_id=request.member_id,
            topics=frozenset(subscription.topics),
            owned=from_wire(subscription.owned_partitions),
            remembered=remembered,
            generation=subscription.generation_id,
            cause=ev.JoinReason.JOINED,
        )
        terms = Terms(
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.session_timeout_ms if rebalance_ms < 0 else rebalance_ms,
            strategies=tuple(metadata),
            instance_id=request.group_instance_id,
        )
        self.deliver(self.group.receive(line.name, join, terms, self.now_ms()))
        return None

    @staticmethod
    def _sync(request: SyncGroupRequest) -> ev.SendSync:
        return ev.SendSync(
            round=0,
            member_id=request.member_id,
            generation=request.generation_id,
            protocol="",
            shares={
                assignment.member_id: tuple(
                    from_wire(decode_assignment(assignment.assignment)[1].assigned_partitions)
                )
                for assignment in request.assignments
            },
        )

    def _response_to(self, event: ev.Event) -> Response:
        """Return an event of the group as a response message."""
        match event:
            case ev.JoinCompleted():
                return self._welcome(event)
            case ev.SyncCompleted(_, code, partitions, protocol):
                share = encode_assignment(
                    ConsumerAssignment(assigned_partitions=to_wire(partitions))
                )
                share = b"\x00\x00\xff" if self.sends_garbage else share
                return SyncGroupResponse(
                    error_code=code, assignment=b"" if code else share, protocol_name=protocol
                )
            case ev.HeartbeatCompleted(code=code):
                return HeartbeatResponse(error_code=code)
            case _:
                raise AssertionError(f"no answer: {event}")

    def _welcome(self, event: ev.JoinCompleted) -> JoinGroupResponse:
        return join_response(
            code=event.code,
            generation=event.generation,
            protocol=event.protocol,
            leader=event.leader_id,
            member_id=event.member_id,
            skip=event.skip_assignment,
            members=tuple(
                JoinGroupMember(
                    member_id=member_id,
                    group_instance_id=member.instance_id,
                    metadata=self._metadata[self.group.members[member_id].join.round][
                        event.protocol
                    ],
                )
                for member_id, member in event.members.items()
            ),
        )


_SOME = Terms(session_timeout_ms=10_000, rebalance_timeout_ms=10_000, strategies=("range",))


class _Connection:
    """One connection; ``close`` ends a call that waits for its response."""

    def __init__(self, double: CoordinatorDouble, broker: Broker, name: str) -> None:
        self._double = double
        self._broker = broker
        self._closed = False
        self.name = name
        self.responses: queue.SimpleQueue[Response] = queue.SimpleQueue()

    def version_of(
        self,
        request: Request[R] | type[Request[R]],
        *,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> int:
        """See ``NegotiatedConnection``."""
        api = request.API
        newest = self._double.newest(api.key, api.last if at_most is None else at_most)
        if newest < at_least:
            raise UnsupportedVersion(f"{self._broker}: it lacks {api.key.name} {at_least}")
        return newest

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """See ``Connection``; request and response are encoded and decoded."""
        version = self.version_of(request, at_least=at_least, at_most=at_most)
        data = encode_request(request, version=version, correlation_id=7, client_id="t")
        requested = decode_request(data[LENGTH_BYTES:]).request
        deadline_ms = self._double.now_ms() + timeout_ms
        self._check()
        kind = type(requested)
        self._double.attempts[kind] = self._double.attempts.get(kind, 0) + 1
        silent = kind in self._double.silent
        response = None if silent else self._double.take(self, requested, version)
        while response is None:
            response = self._wait(deadline_ms, silent=silent)
        frame = encode_response(response, version=version, correlation_id=7)
        return decode_response(request, version, frame[LENGTH_BYTES:])[1]

    def close(self) -> None:
        """See ``NegotiatedConnection``."""
        self._closed = True

    def _wait(self, deadline_ms: int, *, silent: bool) -> Response | None:
        self._check()
        if self._double.now_ms() >= deadline_ms:
            self.close()
            raise RequestTimedOut(f"{self._broker}: no response in time")
        if not silent:
            self._double.tick()
        try:
            return self.responses.get(timeout=_TICK_S)
        except queue.Empty:
            return None

    def _check(self) -> None:
        if self._closed:
            raise ConnectionLost(f"{self._broker}: closed the connection")
