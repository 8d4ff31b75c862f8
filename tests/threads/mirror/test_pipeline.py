"""Batches that wait for the writer: written in order, limited, and never lost silently."""

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
    """A batch of messages of one partition."""
    return batch_of({SOURCE: {THERE: offsets}})


class BlockedWriter:
    """A writer that waits for the test, and then acknowledges all of a batch."""

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.done: list[dict[TopicPartition, int]] = []
        self.gate = threading.Semaphore(0)
        self.error: Exception | None = None
        self.gives_up = False

    def write(self, mirror_batch: MirrorBatch) -> bool:
        """See ``Writer``."""
        assert self.gate.acquire(timeout=10)
        if self.error is not None:
            raise self.error
        if self.gives_up:
            return False
        landed = mirror_batch.acknowledge(THERE, 0, len(mirror_batch.rest()[THERE]))
        self.written.append([offset for line in landed for offset, _ in line.pairs()])
        return True

    def on_done(self, mirror_batch: MirrorBatch) -> None:
        """Note the positions after a batch."""
        self.done.append(mirror_batch.positions())


def test_batches_that_wait_are_written_together() -> None:
    """They are in order, and at the end all of them are written."""
    writer = BlockedWriter()
    pipeline = WritePipeline(writer.write, writer.on_done, most=100)
    with pipeline.running():
        pipeline.put(batch(0, 1))
        writer.gate.release()
        wait_until(lambda: len(writer.done) == 1, what="the first one written")
        assert pipeline.is_idle
        pipeline.put(batch(2))
        wait_until(lambda: not pipeline._waiting, what="the writer has it")
        pipeline.put(batch(3, 5))
        pipeline.put(batch(6))
        writer.gate.release(2)
    assert writer.written == [[0, 1], [2], [3, 5, 6]]
    assert writer.done == [{SOURCE: 2}, {SOURCE: 3}, {SOURCE: 7}]


def test_waiting_messages_are_limited_in_number_and_bytes() -> None:
    """The reader waits until batches are written."""
    writer = BlockedWriter()
    pipeline = WritePipeline(writer.write, writer.on_done, most=3)
    small = WritePipeline(writer.write, writer.on_done, most=100, max_bytes=1)
    with pipeline.running():
        pipeline.put(batch(0, 1))
        assert pipeline.free_count == 1
        pipeline.put(batch(2))
        assert not pipeline.wait_for_capacity(1)
        writer.gate.release(2)
        assert pipeline.wait_for_capacity(10_000)
        pipeline.flush()
        assert pipeline.free_count == 3
    with small.running():
        small.put(batch(0))
        assert small.free_count == 0
        writer.gate.release()
        small.flush()
        assert small.free_count == 100


def test_a_failure_ends_the_pipeline() -> None:
    """Callers that wait for capacity or for a flush get the error, and wait no longer."""
    writer = BlockedWriter()
    writer.error = MirrorError("refused")
    pipeline = WritePipeline(writer.write, writer.on_done, most=2)
    with pytest.raises(MirrorError, match="refused"), pipeline.running():  # noqa: PT012
        pipeline.put(batch(4, 5))
        writer.gate.release()
        pipeline.flush()
        assert not pipeline.wait_for_capacity(10_000)
        pipeline.put(batch(6))
        assert not pipeline.is_idle
        with pytest.raises(MirrorError):
            pipeline.check()
    assert writer.done == [{SOURCE: 4}]


def test_a_batch_that_is_given_up_ends_the_pipeline() -> None:
    """No batch after it is written."""
    writer = BlockedWriter()
    writer.gives_up = True
    pipeline = WritePipeline(writer.write, writer.on_done, most=100)
    with pipeline.running():
        pipeline.put(batch(0))
        wait_until(lambda: not pipeline._waiting, what="the writer has it")
        pipeline.put(batch(1))
        writer.gate.release(2)
    assert (writer.written, writer.done) == ([], [{SOURCE: 0}])
