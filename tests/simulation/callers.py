"""The threads of the user's: each iterates one stream, and waits where the real one would."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from tests.simulation.kernel import SimClock, Task
from tests.simulation.ledger import Ledger, Reading
from zkconsumer.errors import (
    ConsumerClosed,
    ConsumerTimeout,
    OffsetCommitFailed,
    RebalanceFailed,
    ZkConsumerError,
)
from zkconsumer.membership.zookeeper.threads.reply import Reply
from zkconsumer.model import TopicPartition
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream import KafkaStream

T = TypeVar("T")
Message = MessageAndMetadata[Any, Any]
PAUSE_MS = 100


class Owner(Protocol):
    """The member whose stream it is."""

    name: str
    readings: dict[TopicPartition, Reading]

    @property
    def is_suspicious(self) -> bool:
        """Whether ZooKeeper is silent."""
        ...


class Caller:
    """Asks for one message after the other, or for some, each time that the scheduler lets it.

    Attributes:
        stream: what it iterates.
        batch_records: how many messages it asks for at a time; 0: one by one.
        cursor: the messages that it works on.
        ended: its stream came to the end.
        pauses_until_ms: it heard an error and tries again then.
    """

    stream: KafkaStream[Any, Any]

    def __init__(
        self,
        member: Owner,
        queue: StreamQueue,
        clock: SimClock,
        ledger: Ledger,
        note: Callable[..., None],
    ) -> None:
        self._member = member
        self._queue = queue
        self._clock = clock
        self._ledger = ledger
        self._note = note
        self._waits = False
        # It met a shut gate, and goes on when that opens.
        self._held_up = False
        self.batch_records = 0
        self.cursor: list[tuple[Reading, int]] = []
        self.ended = False
        self.pauses_until_ms = 0
        self.task = Task(clock, self._run)

    @property
    def has_work(self) -> bool:
        """Whether letting it go on would change anything."""
        if self.ended or not self.task.ready or self._clock.time_ms < self.pauses_until_ms:
            return False
        if self._held_up and self._member.is_suspicious:
            return False
        is_busy = self._waits or self._held_up or bool(self.cursor)
        return is_busy or self._queue.head(0) is not None

    def poll(self) -> None:
        """Let it go on: it is done with the message in hand and asks for the next."""
        self.task.resume()

    def wait_for(self, reply: Reply[T]) -> T | None:
        """What the control thread answers. Called inside of its task."""
        responses: list[T | ZkConsumerError | None] = []

        def came() -> bool:
            if not responses:
                try:
                    value, there = reply.wait(0)
                except ZkConsumerError as error:
                    responses.append(error)
                else:
                    responses.extend([value] if there else [])
            return bool(responses)

        self._waits = True
        try:
            self.task.stop_here(came)
        finally:
            self._waits = False
        response = responses[0]
        if isinstance(response, ZkConsumerError):
            raise response
        return response

    def _run(self) -> None:
        while not self.ended:
            self._note("poll", self._member.name, self._request())
            self.task.stop_here()

    def _request(self) -> str:
        for reading, offset in self.cursor:
            self._ledger.finished(reading, offset)
        self.cursor = []
        self._held_up = False
        try:
            messages = self._next_messages()
        except ConsumerTimeout:
            self._held_up = self._member.is_suspicious
            return "nothing"
        except StopIteration:
            self.ended = True
            return "end"
        except (RebalanceFailed, OffsetCommitFailed, ConsumerClosed) as error:
            self.pauses_until_ms = self._clock.time_ms + PAUSE_MS
            return f"{type(error).__name__}: {error}"
        return " ".join(map(self._work_on, messages))

    def _next_messages(self) -> list[Message]:
        if not self.batch_records:
            return [next(self.stream)]
        return next(self.stream.batches(max_records=self.batch_records, timeout_ms=0))

    def _work_on(self, message: Message) -> str:
        tp = TopicPartition(message.topic, message.partition)
        reading = self._member.readings[tp]
        self.cursor.append((reading, message.offset))
        self._ledger.handed(reading, message.offset)
        return f"{tp.topic}-{tp.partition}@{message.offset}"
