"""Brokers in memory of any version, with the versions they support, and scripted responses.

Responses come from a test's function, which returns a response, or one of the actions below.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from tests.fakes.frame_reader import FrameReader
from tests.fakes.memory_transport import MemoryNetwork
from tests.support.all_requests import REQUESTS, decode_request
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import DecodeError
from zkconsumer.model import Broker
from zkconsumer.wire.api import ApiKey, Response
from zkconsumer.wire.codec import RequestFrame, encode_response
from zkconsumer.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from zkconsumer.wire.messages.heartbeat import HeartbeatResponse
from zkconsumer.wire.messages.list_groups import ListGroupsResponse
from zkconsumer.wire.messages.list_offsets import ListOffsetsResponse
from zkconsumer.wire.messages.offset_fetch import OffsetFetchResponse
from zkconsumer.wire.versions import KNOWN_VERSIONS, BrokerGeneration, VersionRange

Serves = Mapping[ApiKey, VersionRange]
MAX_BYTES = 1 << 24


class ScriptedAction(Enum):
    """What a broker can do instead of responding."""

    SILENCE = "never answer, and look at nothing that comes behind"
    PASS_OVER = "never answer, but look at what comes behind"
    CLOSE = "close the connection"


ScriptedResponse = Response | ScriptedAction | bytes
Answer = Callable[[RequestFrame], ScriptedResponse | None]
"""Returns the response to a request; None: the default response of such a broker."""

MODERN: Serves = {
    key: VersionRange(request_class.API.first, request_class.API.last)
    for key, request_class in REQUESTS.items()
}
"""All versions that our codec supports."""


def old(generation: BrokerGeneration) -> Serves:
    """Return the versions of a broker without ApiVersions; 0.8.2 fails at Heartbeat."""
    return dict(KNOWN_VERSIONS[generation])


@dataclass
class ScriptedBroker:
    """One broker; changing its attributes is like restarting it as another one.

    Attributes:
        address: its address.
        serves: the supported versions by API.
        generation: its generation, if it has no ApiVersions; else None.
        response: the test's function for responses.
        down: whether it refuses connections.
        accepted: the number of accepted connections.
        requests: every request that it received and could decode.
    """

    address: Broker
    serves: Serves = field(default_factory=lambda: MODERN)
    generation: BrokerGeneration | None = None
    response: Answer = lambda _: None
    down: bool = False
    accepted: int = 0
    requests: list[RequestFrame] = field(default_factory=list)
    conversations: list["ScriptedConversation"] = field(default_factory=list)

    def listen(self, network: MemoryNetwork) -> None:
        """Listen at its address."""
        network.listen(self.address.host, self.address.port, self.accept)

    def accept(self) -> "ScriptedConversation | None":
        """Accept a connection (a ``Listener``)."""
        if self.down:
            return None
        self.accepted += 1
        self.conversations.append(ScriptedConversation(self))
        return self.conversations[-1]

    def become(self, generation: BrokerGeneration | None) -> None:
        """Restart as another version, which breaks all connections."""
        self.break_all()
        self.generation = generation
        self.serves = MODERN if generation is None else old(generation)

    def break_all(self) -> None:
        """Break all connections."""
        for conversation in self.conversations:
            conversation.break_off()
        self.conversations.clear()

    def requested(self, api: ApiKey) -> list[RequestFrame]:
        """The received requests of one API."""
        return [request for request in self.requests if request.api_key is api]

    def respond(self, frame: RequestFrame) -> ScriptedResponse:
        """Return the response to a request, or the action."""
        message = self.response(frame)
        if message is not None:
            return message
        if frame.api_key is ApiKey.API_VERSIONS and self.generation is None:
            return self._versions(frame)
        served = self.serves.get(frame.api_key)
        if self._fails_at(frame):
            return HeartbeatResponse(error_code=ErrorCode.UNKNOWN)
        if served is None or not served.first <= frame.version <= served.last:
            is_0_9 = self.generation is BrokerGeneration.V0_9
            return ScriptedAction.PASS_OVER if is_0_9 else ScriptedAction.CLOSE
        return _BY_ITSELF[frame.api_key]

    def _fails_at(self, frame: RequestFrame) -> bool:
        is_0_8_2 = self.generation is BrokerGeneration.V0_8_2
        return is_0_8_2 and frame.api_key is ApiKey.HEARTBEAT

    def _versions(self, frame: RequestFrame) -> Response:
        served = self.serves[ApiKey.API_VERSIONS]
        known = frame.version <= served.last
        return ApiVersionsResponse(
            error_code=ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION,
            api_versions=tuple(
                ApiVersion(api_key=key, min_version=versions.first, max_version=versions.last)
                for key, versions in self.serves.items()
            ),
        )


_BY_ITSELF: Mapping[ApiKey, Response] = {
    ApiKey.HEARTBEAT: HeartbeatResponse(error_code=ErrorCode.NOT_COORDINATOR),
    ApiKey.LIST_GROUPS: ListGroupsResponse(error_code=0, groups=()),
    ApiKey.OFFSET_FETCH: OffsetFetchResponse(topics=()),
    ApiKey.LIST_OFFSETS: ListOffsetsResponse(topics=()),
}


class ScriptedConversation:
    """One connection to a ``ScriptedBroker`` (a ``Conversation``)."""

    def __init__(self, broker: ScriptedBroker) -> None:
        self._broker = broker
        self._reader = FrameReader(MAX_BYTES)
        self._outgoing = b""
        self._ignores_input = False
        self.is_over = False
        self._wake: Callable[[], None] = lambda: None

    def on_change(self, wake: Callable[[], None]) -> None:
        """See ``Conversation``."""
        self._wake = wake

    def receive(self, data: bytes, now_ms: int) -> None:  # noqa: ARG002 - it has no sense of time
        """See ``Conversation``."""
        self._reader.receive(data)
        while (
            not (self._ignores_input or self.is_over)
            and (frame := self._reader.next_frame()) is not None
        ):
            self._take(frame)

    def take_outgoing(self, now_ms: int) -> bytes:  # noqa: ARG002 - it has no sense of time
        """See ``Conversation``."""
        data, self._outgoing = self._outgoing, b""
        return data

    def next_deadline_ms(self) -> int | None:
        """See ``Conversation``."""
        return None

    def hang_up(self) -> None:
        """See ``Conversation``."""
        self.is_over = True

    def break_off(self) -> None:
        """Close from the broker's side."""
        self._outgoing = b""
        self.is_over = True
        self._wake()

    def _take(self, frame: bytes | memoryview) -> None:
        """Handle a frame; one that is not a request ends the connection."""
        try:
            request = decode_request(frame)
        except DecodeError:
            self.is_over = True
            return
        self._broker.requests.append(request)
        self._do(request)

    def _do(self, request: RequestFrame) -> None:
        match self._broker.respond(request):
            case ScriptedAction.SILENCE:
                self._ignores_input = True
            case ScriptedAction.CLOSE:
                self.is_over = True
            case ScriptedAction.PASS_OVER:
                pass
            case bytes() as message:
                self._outgoing += message
            case response:
                self._outgoing += _encoded(response, request)
        self._wake()


def _encoded(response: Response, request: RequestFrame) -> bytes:
    version = request.version
    if isinstance(response, ApiVersionsResponse) and response.error_code:
        version = 0
    return encode_response(response, version=version, correlation_id=request.correlation_id)
