"""The network of a poll engine in a random world: connections, a client, and metadata."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tests.support.all_requests import decode_request
from zkconsumer.cluster.epoch_ends import EpochEnd
from zkconsumer.cluster.offset_times import EARLIEST as EARLIEST_TIME
from zkconsumer.cluster.offset_times import TimedOffset
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import (
    ConnectionLost,
)
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.net.in_flight import InFlight, Received
from zkconsumer.records.transactions import IsolationLevel
from zkconsumer.wire.codec import decode_response, encode_request, encode_response
from zkconsumer.wire.framing import LENGTH_BYTES
from zkconsumer.wire.messages.fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from tests.support.poll_world import PollWorld


class ModelConnection:
    """A connection to a model broker; requests are encoded, and responses take time.

    Attributes:
        is_unusable: whether it is open, and a response is outstanding that nobody waits for.
    """

    def __init__(self, world: "PollWorld", broker: Broker, *, has_descriptor: bool = False) -> None:
        self.broker = broker
        self.has_descriptor = has_descriptor
        self._is_open = True
        self._is_forgotten = False
        self._sent: InFlight[FetchResponse] | None = None
        self._respond: Any = None
        self._silences = 0
        self._world = world

    @property
    def is_idle(self) -> bool:
        return self._is_open and self._sent is None

    @property
    def is_unusable(self) -> bool:
        return self._is_open and self._is_forgotten

    def forget_request(self) -> None:
        """Forget the request in flight, whose response comes all the same."""
        self._sent, self._is_forgotten = None, True

    def version_of(self, _: object, **__: int) -> int:
        return self._world.version

    def close(self) -> None:
        self._is_open = False

    def begin(
        self, request: FetchRequest, *, timeout_ms: int, at_most: int
    ) -> InFlight[FetchResponse]:
        assert timeout_ms > 0
        assert self._sent is None
        assert not self.is_unusable
        world = self._world
        if not self._is_open or world.chance.random() < world.trouble / 4:
            self._is_open = False
            raise ConnectionLost("model: nothing can be sent")
        sent = self._sent = InFlight(request, at_most, 1)
        if world.chance.random() < 0.5:
            # The broker handles it before anything waits for the response.
            self._respond = self._call(sent)
        return sent

    def receive(self, in_flight: InFlight[FetchResponse], *, timeout_ms: int) -> Received:
        assert timeout_ms > 0
        assert self._sent is in_flight
        if self._respond is None:
            self._respond = self._call(in_flight)
        if isinstance(self._respond, ConnectionLost) or not self._is_open:
            self._is_open = False
            raise ConnectionLost(f"model: {self._respond}")
        if self._silences:
            self._silences -= 1
            self._world.clock.advance(timeout_ms)
            self._world.meanwhile()
            return Received.NOTHING
        return Received.ALL

    def finish(self, in_flight: InFlight[FetchResponse], *, timeout_ms: int) -> Any:
        assert timeout_ms == 0
        assert self._sent is in_flight
        response, self._respond, self._sent = self._respond, None, None
        return response

    def _call(self, in_flight: InFlight[FetchResponse]) -> Any:
        """Return the response, or the error that ends the connection."""
        request = in_flight.request
        assert isinstance(request, FetchRequest)
        try:
            response = self._on_response(request, in_flight.version)
        except ConnectionLost as error:
            return error
        # No response, for ever or for a while; the broker has handled the request.
        # (Only after a while does a pump tell Python that the broker is silent.)
        often = 2 if self.has_descriptor else 0.5
        is_lost = self._world.chance.random() < self._world.trouble * often
        self._silences = self._world.chance.choice((1, 2, 3, 1 << 30)) if is_lost else 0
        return response

    def _on_response(self, request: FetchRequest, at_most: int) -> Any:
        world, model = self._world, self._world.brokers[self.broker.id]
        frame = encode_request(request, version=at_most, correlation_id=1, client_id="c")
        is_late = world.chance.random() < 0.5
        if is_late:
            world.meanwhile()
        if world.chance.random() < world.trouble / 2:
            raise ConnectionLost("model: before the broker had it")
        got = decode_request(memoryview(frame)[LENGTH_BYTES:]).request
        assert isinstance(got, FetchRequest)
        world.fetches += 1
        response = encode_response(model.fetch(got, at_most), version=at_most, correlation_id=1)
        if not is_late:
            world.meanwhile()
        if world.chance.random() < world.trouble / 2:
            raise ConnectionLost("model: after the broker had it")
        return decode_response(request, at_most, memoryview(response)[LENGTH_BYTES:])[1]


class ModelClient:
    """A client that looks up offsets in the model cluster."""

    def __init__(self, world: "PollWorld") -> None:
        self._world = world

    def list_offsets(
        self, times: Mapping[TopicPartition, int], *, timeout_ms: int, isolation: IsolationLevel
    ) -> dict[TopicPartition, TimedOffset | int]:
        offsets = {tp: self._offset(tp, time, isolation) for tp, time in times.items()}
        self._world.wait_for_client(timeout_ms)
        return offsets

    def epoch_ends(
        self, requested: Mapping[TopicPartition, tuple[int, int]], *, timeout_ms: int
    ) -> dict[TopicPartition, EpochEnd | int | None]:
        ends = {tp: self._end(tp, *offset_and_size) for tp, offset_and_size in requested.items()}
        self._world.wait_for_client(timeout_ms)
        return ends

    def _offset(
        self, tp: TopicPartition, time: int, isolation: IsolationLevel
    ) -> TimedOffset | int:
        world, log = self._world, self._world.logs[tp]
        if world.chance.random() < world.trouble:
            return ErrorCode.NOT_LEADER_FOR_PARTITION
        if time == EARLIEST_TIME:
            return TimedOffset(log.start)
        committed = isolation is IsolationLevel.READ_COMMITTED
        epoch = log.epoch if world.version >= 9 else None
        return TimedOffset(log.last_stable if committed else log.end, -1, epoch)

    def _end(self, tp: TopicPartition, current: int, epoch: int) -> EpochEnd | int | None:
        world, log = self._world, self._world.logs[tp]
        if not world.has_exact_epochs:
            return None
        if world.chance.random() < world.trouble:
            return ErrorCode.NOT_LEADER_FOR_PARTITION
        if 0 <= current < log.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return EpochEnd(*log.end_of_epoch(epoch))


class ModelMetadata:
    """A ``MetadataManager`` whose view the world sets."""

    def __init__(self) -> None:
        self.view: ClusterView = NOTHING_KNOWN
        self.is_wanted = False

    def update(self) -> None:
        self.is_wanted = True


class NoThreads:
    """A scope that starts no threads: the world does their work."""

    def spawn(self, *_: object, **__: object) -> None:
        pass
