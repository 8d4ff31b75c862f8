"""Waits for a stream's messages in an event loop: ``async for message in stream``.

Available messages are returned without a thread or a callback. Only if there is none does the
stream listen to its queue: a producer's thread then notifies the loop, once for any number of puts.
Steps that may block (a commit ahead of a chunk, a dead letter) run in the loop's executor.

A task may be cancelled at any await, since it holds no message there: the next call continues from
the same position.
"""

import asyncio
from typing import Final, Generic, TypeVar

from zkconsumer.errors import ConsumerTimeout, StreamInUse, ZkConsumerError
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.reader import BlockingTask, ChunkReader, Need

K = TypeVar("K")
V = TypeVar("V")
_BURST_S: Final = 0.005
"""How long, s, available messages are returned before other tasks of the loop get a turn."""
_MAX_SLEEP_S: Final = 0.5
"""Maximum sleep, s, to notice changes that send no signal: a lost claim."""


class _Wait:
    """One task's wait for one stream. All but ``signal`` runs in the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._is_scheduled = False
        self._is_signalled = False
        self._sleeper: asyncio.Future[None] | None = None

    def signal(self) -> None:
        """Wake the task: something changed. Thread: any."""
        if self._is_scheduled:
            return
        self._is_scheduled = True
        try:
            self.loop.call_soon_threadsafe(self._on_notice)
        except RuntimeError:
            # The loop was closed under its task; the next reader checks the queue itself.
            self._is_scheduled = False

    async def sleep(self, timeout_s: float) -> None:
        """Sleep until a signal, which may have come since the last sleep, or the time-out."""
        if not self._is_signalled:
            self._sleeper = self.loop.create_future()
            alarm = self.loop.call_later(timeout_s, self._rouse)
            try:
                await self._sleeper
            finally:
                alarm.cancel()
                self._sleeper = None
        self._is_signalled = False

    def _on_notice(self) -> None:
        # Cleared first: a later signal schedules again, an earlier one is seen by this wake-up.
        self._is_scheduled = False
        self._is_signalled = True
        self._rouse()

    def _rouse(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)


class AsyncReader(Generic[K, V]):
    """Reads a stream for tasks of an event loop.

    Attributes:
        waiting: the wait of the task that reads, if any.
    """

    def __init__(self, reader: ChunkReader[K, V], queue: StreamQueue, timeout_ms: int) -> None:
        self.waiting: _Wait | None = None
        self._reader = reader
        self._queue = queue
        self._timeout_ms = timeout_ms
        self._burst_ends_s = 0.0
        self._in_flight: tuple[BlockingTask, asyncio.Future[bool]] | None = None

    def refuse_another(self) -> None:
        """Refuse a reader while a task waits.

        Raises:
            StreamInUse: a task waits.
            ConsumerForked: this is a forked child.
        """
        self._reader.check()
        if self.waiting is not None and not self.waiting.loop.is_closed():
            raise StreamInUse(
                "a task already waits for this stream's next message: give each stream one reader, "
                "and don't mix for and async for while one of them is waiting"
            )
        # The waiting task's loop is closed, so the task will never continue.
        self.waiting = None
        self._queue.listen(None)

    async def next_message(self) -> MessageAndMetadata[K, V]:
        """See ``KafkaStream.__anext__``."""
        if self.waiting is not None:
            self.refuse_another()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # No loop is running in a child that was forked inside a task.
            self._reader.check()
            raise
        if loop.time() < self._burst_ends_s:
            message = self._reader.step()
            if message is not None:
                return message
        self.waiting = wait = _Wait(loop)
        try:
            if loop.time() >= self._burst_ends_s:
                await asyncio.sleep(0)
                self._burst_ends_s = loop.time() + _BURST_S
            return await self._until_message(wait)
        finally:
            if self.waiting is wait:
                self.waiting = None
                self._queue.listen(None)

    async def _until_message(self, wait: _Wait) -> MessageAndMetadata[K, V]:
        deadline_s = None
        if self._timeout_ms >= 0:
            deadline_s = wait.loop.time() + self._timeout_ms / 1000
        is_listening = False
        while True:
            message = self._reader.step()
            if message is not None:
                return message
            need = self._reader.turn()
            if isinstance(need, BlockingTask):
                await self._run(need, wait.loop)
            elif need is Need.END:
                raise StopAsyncIteration
            elif need is not Need.NOTHING and not is_listening:
                # The queue is checked once more, for items put before the listener was set.
                self._queue.listen(wait.signal)
                is_listening = True
            elif need is not Need.NOTHING:
                await self._sleep(wait, deadline_s)

    async def _sleep(self, wait: _Wait, deadline_s: float | None) -> None:
        sleep_s = _MAX_SLEEP_S
        if deadline_s is not None:
            sleep_s = min(sleep_s, deadline_s - wait.loop.time())
            if sleep_s <= 0:
                raise ConsumerTimeout(f"no message within {self._timeout_ms} ms")
        await wait.sleep(sleep_s)
        self._burst_ends_s = wait.loop.time() + _BURST_S

    async def _run(self, task: BlockingTask, loop: asyncio.AbstractEventLoop) -> None:
        """Run a task in the executor; if cancelled, leave its result to the next reader."""
        task, future = self._join_or_start(task, loop)
        try:
            go_on = await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.cancelled():
                self._in_flight = None
            raise
        except Exception as error:
            self._in_flight = None
            if isinstance(error, ZkConsumerError):
                self._reader.settle_error(task, error)
            raise
        self._in_flight = None
        self._reader.settle(task, go_on=go_on)

    def _join_or_start(
        self, task: BlockingTask, loop: asyncio.AbstractEventLoop
    ) -> tuple[BlockingTask, asyncio.Future[bool]]:
        if self._in_flight is not None:
            before, future = self._in_flight
            is_same = before.chunk is task.chunk and before.is_poison is task.is_poison
            if is_same and future.get_loop() is loop:
                return self._in_flight
        future = loop.run_in_executor(None, task.run)
        # If no reader collects the result, asyncio should not log its error.
        future.add_done_callback(_drain)
        self._in_flight = task, future
        return self._in_flight


def _drain(future: asyncio.Future[bool]) -> None:
    if not future.cancelled():
        future.exception()
