"""A write pipeline: batches are written in order, bounded, and no failure goes unreported."""

import threading

import pytest

from tests.support.mirroring import SOURCE, batch_of
from tests.support.waiting import wait_until
from zkconsumer.errors import MirrorError
from zkconsumer.mirror.batch import MirrorBatch
from zkconsumer.mirror.pipeline import WritePipeline
from zkconsumer.model import TopicPartition

THERE = TopicPartition("copy", 0)


def batch(*offsets: int) -> MirrorBatch:
    """Messages of one partition."""
    return batch_of({SOURCE: {THERE: offsets}})


class Held:
    """A writer that waits for ``gate`` before each batch, then acknowledges all of it."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.done: list[dict[TopicPartition, int]] = []
        self.gate = threading.Semaphore(0)
        self.error: Exception | None = None
        self.gives_up = False

    def write(self, one: MirrorBatch) -> bool:
        """See ``Writer``."""
        assert self.gate.acquire(timeout=10)
        if self.error is not None:
            raise self.error
        if self.gives_up:
            return False
        landed = one.acknowledge(THERE, 0, len(one.rest()[THERE]))
        self.written.append([offset for line in landed for offset, _ in line.pairs()])
        return True

    def on_done(self, one: MirrorBatch) -> None:
        """Record the positions that the batch reached."""
        self.done.append(one.positions())


def test_what_comes_meanwhile_is_written_together() -> None:
    """Batches that arrive during a write are merged into the next one; order is kept."""
    held = Held()
    pipeline = WritePipeline(held.write, held.on_done, most=100)
    with pipeline.running():
        pipeline.put(batch(0, 1))
        held.gate.release()
        wait_until(lambda: len(held.done) == 1, what="the first one written")
        assert pipeline.is_idle
        pipeline.put(batch(2))
        wait_until(lambda: not pipeline._waiting, what="the writer has it")
        pipeline.put(batch(3, 5))
        pipeline.put(batch(6))
        held.gate.release(2)
    assert held.written == [[0, 1], [2], [3, 5, 6]]
    assert held.done == [{SOURCE: 2}, {SOURCE: 3}, {SOURCE: 7}]


def test_room_is_bounded_in_messages_and_bytes() -> None:
    """The reader waits at the limit of messages or bytes; a write frees its share."""
    held = Held()
    pipeline = WritePipeline(held.write, held.on_done, most=3)
    small = WritePipeline(held.write, held.on_done, most=100, most_bytes=1)
    with pipeline.running():
        pipeline.put(batch(0, 1))
        assert pipeline.free_count == 1
        pipeline.put(batch(2))
        assert not pipeline.wait_for_capacity(1)
        held.gate.release(2)
        assert pipeline.wait_for_capacity(10_000)
        pipeline.flush()
        assert pipeline.free_count == 3
    with small.running():
        small.put(batch(0))
        assert small.free_count == 0
        held.gate.release()
        small.flush()
        assert small.free_count == 100


def test_a_failure_ends_it() -> None:
    """After a failed write, waiting for capacity returns, and ``check`` raises the reason."""
    held = Held()
    held.error = MirrorError("refused")
    pipeline = WritePipeline(held.write, held.on_done, most=2)
    with pytest.raises(MirrorError, match="refused"), pipeline.running():  # noqa: PT012
        pipeline.put(batch(4, 5))
        held.gate.release()
        pipeline.flush()
        assert not pipeline.wait_for_capacity(10_000)
        pipeline.put(batch(6))
        assert not pipeline.is_idle
        with pytest.raises(MirrorError):
            pipeline.check()
    assert held.done == [{SOURCE: 4}]


def test_what_is_given_up_ends_it() -> None:
    """After the writer gives a batch up, no later batch is written."""
    held = Held()
    held.gives_up = True
    pipeline = WritePipeline(held.write, held.on_done, most=100)
    with pipeline.running():
        pipeline.put(batch(0))
        wait_until(lambda: not pipeline._waiting, what="the writer has it")
        pipeline.put(batch(1))
        held.gate.release(2)
    assert (held.written, held.done) == ([], [{SOURCE: 0}])
