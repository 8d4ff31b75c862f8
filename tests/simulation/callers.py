"""The users' threads: each iterates one stream and waits where a real thread would."""

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
    """The member that owns the stream."""

    name: str
    readings: dict[TopicPartition, Reading]

    @property
    def is_suspicious(self) -> bool:
        """Whether ZooKeeper has stopped answering."""
        ...


class Caller:
    """Requests one message or one batch each time that the scheduler resumes it.

    Attributes:
        stream: the stream that it iterates.
        batch_records: how many messages it requests at a time; 0: one by one.
        cursor: the messages that it is processing.
        ended: whether its stream has ended.
        pauses_until_ms: when it tries again after an error.
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
        # The gate was shut; it continues when the gate opens.
        self._held_up = False
        self.batch_records = 0
        self.cursor: list[tuple[Reading, int]] = []
        self.ended = False
        self.pauses_until_ms = 0
        self.task = Task(clock, self._run)

    @property
    def has_work(self) -> bool:
        """Whether resuming it would change anything."""
        if self.ended or not self.task.ready or self._clock.time_ms < self.pauses_until_ms:
            return False
        if self._held_up and self._member.is_suspicious:
            return False
        is_busy = self._waits or self._held_up or bool(self.cursor)
        return is_busy or self._queue.head(0) is not None

    def poll(self) -> None:
        """Resume it: it finishes its message and requests the next one."""
        self.task.resume()

    def wait_for(self, reply: Reply[T]) -> T | None:
        """Wait for the control thread's reply; called within the caller's task."""
        responses: list[T | ZkConsumerError | None] = []

        def has_arrived() -> bool:
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
            self.task.stop_here(has_arrived)
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
