"""``async for message in stream``: the waiting of a stream, done by an event loop.

What is there is handed over without a thread or a callback. Only where nothing is, the stream
listens to its queue: whoever puts there notifies the loop, once for however many puts. What may
block (a commit ahead of a chunk, a dead letter) runs in the loop's executor.

A task may be cancelled at any await, and at each of them no message is in hand: the next call
goes on where this one stood.
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
"""After so long with messages at hand others in the loop have their turn."""
_LOOK_AROUND_S: Final = 0.5
"""A wait ends at least so often, for what nobody calls it for: a claim that was lost."""


class _Wait:
    """One task's wait for one stream. All but ``signal`` belongs to the loop's thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._is_called = False
        self._has_rung = False
        self._sleeper: asyncio.Future[None] | None = None

    def signal(self) -> None:
        """Something changed: look again. Thread: any."""
        if self._is_called:
            return
        self._is_called = True
        try:
            self.loop.call_soon_threadsafe(self._on_notice)
        except RuntimeError:
            # The loop was closed under its task; whoever comes next looks for itself.
            self._is_called = False

    async def rest(self, timeout_s: float) -> None:
        """Until it rings, or did since the last rest, or for so long."""
        if not self._has_rung:
            self._sleeper = self.loop.create_future()
            alarm = self.loop.call_later(timeout_s, self._rouse)
            try:
                await self._sleeper
            finally:
                alarm.cancel()
                self._sleeper = None
        self._has_rung = False

    def _on_notice(self) -> None:
        # First: a ring from here on calls again, one before it is seen by who looks now.
        self._is_called = False
        self._has_rung = True
        self._rouse()

    def _rouse(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)


class AsyncReader(Generic[K, V]):
    """Reads a stream from an event loop.

    Attributes:
        waiting: the wait of the task that is in it, if any.
    """

    def __init__(self, reader: ChunkReader[K, V], queue: StreamQueue, timeout_ms: int) -> None:
        self.waiting: _Wait | None = None
        self._reader = reader
        self._queue = queue
        self._timeout_ms = timeout_ms
        self._burst_ends_s = 0.0
        self._flight: tuple[BlockingTask, asyncio.Future[bool]] | None = None

    def refuse_another(self) -> None:
        """While a task waits, nobody else can.

        Raises:
            StreamInUse: one does.
            ConsumerForked: this is a forked child, in which none does.
        """
        self._reader.check()
        if self.waiting is not None and not self.waiting.loop.is_closed():
            raise StreamInUse(
                "a task waits for this stream's next message already: give each stream one reader, "
                "and don't mix for and async for while one of them waits"
            )
        # Its loop is no more, so it will never go on.
        self.waiting = None
        self._queue.listen(None)

    async def next_message(self) -> MessageAndMetadata[K, V]:
        """See ``KafkaStream.__anext__``."""
        if self.waiting is not None:
            self.refuse_another()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            # A child that was forked inside of a task is in no loop.
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
                # And look once more, for what came before anyone listened.
                self._queue.listen(wait.signal)
                is_listening = True
            elif need is not Need.NOTHING:
                await self._rest(wait, deadline_s)

    async def _rest(self, wait: _Wait, deadline_s: float | None) -> None:
        nap_s = _LOOK_AROUND_S
        if deadline_s is not None:
            nap_s = min(nap_s, deadline_s - wait.loop.time())
            if nap_s <= 0:
                raise ConsumerTimeout(f"no message within {self._timeout_ms} ms")
        await wait.rest(nap_s)
        self._burst_ends_s = wait.loop.time() + _BURST_S

    async def _run(self, task: BlockingTask, loop: asyncio.AbstractEventLoop) -> None:
        """Run it in the executor; a task that is cancelled leaves it to the next one."""
        task, future = self._take_flight(task, loop)
        try:
            go_on = await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.cancelled():
                self._flight = None
            raise
        except Exception as error:
            self._flight = None
            if isinstance(error, ZkConsumerError):
                self._reader.settle_error(task, error)
            raise
        self._flight = None
        self._reader.settle(task, go_on=go_on)

    def _take_flight(
        self, task: BlockingTask, loop: asyncio.AbstractEventLoop
    ) -> tuple[BlockingTask, asyncio.Future[bool]]:
        if self._flight is not None:
            before, future = self._flight
            is_same = before.chunk is task.chunk and before.behind is task.behind
            if is_same and future.get_loop() is loop:
                return self._flight
        future = loop.run_in_executor(None, task.run)
        # Were nobody to come back for it, its error need not be said again.
        future.add_done_callback(_drain)
        self._flight = task, future
        return self._flight


def _drain(future: asyncio.Future[bool]) -> None:
    if not future.cancelled():
        future.exception()
