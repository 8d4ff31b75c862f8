"""Scripted brokers: they answer from a ``FakeCluster``, except where a script says otherwise.

cluster = FakeCluster(broker_count=2)
brokers = FakeBrokers(cluster)
brokers.listen_in_memory(network)            # or: brokers.listen_on_loopback(server)
brokers[0].script(ApiKey.FETCH, Hang())
"""

from collections import deque
from collections.abc import Callable, Iterator

from tests.fakes.fake_cluster import FakeCluster
from tests.fakes.fake_failures import failure
from tests.fakes.fake_responses import FakeResponses
from tests.fakes.fake_script import (
    Close,
    Cut,
    DefaultReply,
    Fail,
    Hang,
    Raw,
    ScriptedReply,
    Step,
)
from tests.fakes.frame_reader import FrameReader
from tests.fakes.loopback import LOOPBACK, LoopbackServer
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.all_requests import decode_request
from zkconsumer.errors import DecodeError
from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey, Response
from zkconsumer.wire.codec import RequestFrame, encode_response
from zkconsumer.wire.messages.fetch import FetchRequest, FetchResponse
from zkconsumer.wire.messages.produce import ProduceRequest, ProduceResponse
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration

_MAX_REQUEST_BYTES = 104_857_600
_DEFAULT_REPLY = DefaultReply()
_SERVED = KNOWN_VERSIONS[BrokerGeneration.V0_8_2]


class FakeBroker:
    """One broker. Thread: any.

    Attributes:
        requests: every request received, in order, including those without a response.
    """

    def __init__(self, cluster: FakeCluster, broker_id: int) -> None:
        self.cluster = cluster
        self.id = broker_id
        self.requests: list[RequestFrame] = []
        self._steps: dict[ApiKey, deque[Step]] = {}
        self._conversations: list[BrokerConversation] = []

    @property
    def address(self) -> Broker:
        """The broker's address."""
        return self.cluster.brokers[self.id]

    def script(self, api: ApiKey, *steps: Step) -> None:
        """Apply these steps to the next requests of an API, one each; then answer normally."""
        with self.cluster.lock:
            self._steps.setdefault(api, deque()).extend(steps)

    def stop(self) -> None:
        """Go down: break all connections, take no new ones, lead nothing."""
        with self.cluster.lock:
            self.cluster.down.add(self.id)
            for conversation in self._conversations:
                conversation.break_off()
            self._conversations.clear()
        self.cluster.changed()

    def start(self) -> None:
        """Come up again."""
        with self.cluster.lock:
            self.cluster.down.discard(self.id)
        self.cluster.changed()

    def accept(self) -> "BrokerConversation | None":
        """Accept a connection (a ``Listener``)."""
        with self.cluster.lock:
            if self.id in self.cluster.down:
                return None
            conversation = BrokerConversation(self)
            self._conversations.append(conversation)
            return conversation

    def next_step(self, api: ApiKey) -> Step:
        """Take the next scripted step for a request of this API."""
        steps = self._steps.get(api)
        return steps.popleft() if steps else _DEFAULT_REPLY


class BrokerConversation:
    """One connection to a fake broker (a ``Conversation``); requests are handled in order."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker
        self._cluster = broker.cluster
        self._responses = FakeResponses(broker.cluster, broker.id)
        self._reader = FrameReader(_MAX_REQUEST_BYTES)
        self._waiting: deque[RequestFrame] = deque()
        self._parked: tuple[RequestFrame, int] | None = None
        self._outgoing = b""
        self._hangs = False
        self._over = False
        self._wake: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        """See ``Conversation``."""
        return self._over and not self._outgoing

    def on_change(self, wake: Callable[[], None]) -> None:
        """See ``Conversation``."""
        self._wake = wake
        self._cluster.on_change(wake)

    def receive(self, data: bytes, now_ms: int) -> None:
        """See ``Conversation``. Like a real broker, it closes on bytes that it can't decode."""
        with self._cluster.lock:
            self._reader.receive(data)
            try:
                while not self._over and (frame := self._reader.next_frame()) is not None:
                    request = decode_request(frame)
                    self._broker.requests.append(request)
                    self._waiting.append(request)
            except DecodeError:
                self._over = True
            self._work(now_ms)

    def take_outgoing(self, now_ms: int) -> bytes:
        """See ``Conversation``."""
        with self._cluster.lock:
            self._work(now_ms)
            data, self._outgoing = self._outgoing, b""
            return data

    def next_deadline_ms(self) -> int | None:
        """See ``Conversation``."""
        parked = self._parked
        return None if parked is None else parked[1]

    def hang_up(self) -> None:
        """See ``Conversation``."""
        self._over = True
        if self._wake is not None:
            self._cluster.forget(self._wake)

    def break_off(self) -> None:
        """Close from the broker's side, and drop what was not sent yet."""
        self._over = True
        self._outgoing = b""
        if self._wake is not None:
            self._wake()

    def _work(self, now_ms: int) -> None:
        """Handle the waiting requests; a parked fetch blocks the requests after it."""
        if self._parked is not None and not self._over:
            frame, deadline_ms = self._parked
            self._parked = None
            self._respond(frame, now_ms, deadline_ms)
        while self._waiting and not (self._parked or self._hangs or self._over):
            self._handle(self._waiting.popleft(), now_ms)

    def _handle(self, frame: RequestFrame, now_ms: int) -> None:
        match self._broker.next_step(frame.api_key):
            case DefaultReply():
                self._respond(frame, now_ms, None)
            case Fail(code):
                self._send(frame, failure(frame.request, code))
            case ScriptedReply(response):
                self._send(frame, response)
            case Raw(data):
                self._outgoing += data
            case Hang():
                self._hangs = True
            case Cut(count):
                whole = _encoded(frame, self._responses.to(frame.request, frame.version))
                self._outgoing += whole[:count]
                self._over = True
            case Close():
                self._over = True

    def _respond(self, frame: RequestFrame, now_ms: int, deadline_ms: int | None) -> None:
        if not _is_known(frame):
            self._over = True
            return
        response = self._responses.to(frame.request, frame.version)
        if isinstance(frame.request, FetchRequest) and isinstance(response, FetchResponse):
            if deadline_ms is None:
                deadline_ms = now_ms + frame.request.max_wait_ms
            if now_ms < deadline_ms and _is_too_little(frame.request, response):
                self._parked = (frame, deadline_ms)
                return
        self._send(frame, response)

    def _send(self, frame: RequestFrame, response: Response) -> None:
        if isinstance(frame.request, ProduceRequest) and frame.request.acks == 0:
            # acks=0 has no response: a broker reports an error by closing the connection.
            assert isinstance(response, ProduceResponse)
            self._over = any(
                partition.error_code for topic in response.topics for partition in topic.partitions
            )
            return
        self._outgoing += _encoded(frame, response)


class FakeBrokers:
    """All brokers of a cluster; they listen in memory or on loopback."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self._brokers = {number: FakeBroker(cluster, number) for number in cluster.brokers}

    def __getitem__(self, broker_id: int) -> FakeBroker:
        return self._brokers[broker_id]

    def __iter__(self) -> Iterator[FakeBroker]:
        return iter(self._brokers.values())

    @property
    def addresses(self) -> tuple[Broker, ...]:
        """The brokers' addresses."""
        return tuple(broker.address for broker in self)

    def listen_in_memory(self, network: MemoryNetwork) -> None:
        """Listen in an in-memory network, at the cluster's addresses."""
        for broker in self:
            network.listen(broker.address.host, broker.address.port, broker.accept)

    def listen_on_loopback(self, server: LoopbackServer) -> None:
        """Listen on free ports of 127.0.0.1, which become the cluster's addresses."""
        for broker in self:
            port = server.listen(broker.accept)
            self.cluster.brokers[broker.id] = Broker(broker.id, LOOPBACK, port)


def _is_known(frame: RequestFrame) -> bool:
    """Whether a 0.8.2.2 broker answers the request; for any other it closes the connection."""
    served = _SERVED.get(frame.api_key)
    if served is None:
        return frame.api_key is ApiKey.HEARTBEAT
    return served.first <= frame.version <= served.last


def _encoded(frame: RequestFrame, response: Response) -> bytes:
    return encode_response(response, version=frame.version, correlation_id=frame.correlation_id)


def _is_too_little(request: FetchRequest, response: FetchResponse) -> bool:
    """Whether a broker would wait for more: no error, and fewer bytes than ``min_bytes``."""
    responses = [partition for topic in response.topics for partition in topic.partitions]
    if any(fetched_partition.error_code for fetched_partition in responses):
        return False
    return (
        sum(len(fetched_partition.records) for fetched_partition in responses) < request.min_bytes
    )
