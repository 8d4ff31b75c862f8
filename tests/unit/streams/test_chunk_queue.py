"""The queue between fetchers and a stream: bounds, wakeups, its end, and interruptions."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.support.chunks import T1, chunk_of, claim_of, ignore
from tests.support.interrupting import interrupt_at_line
from tests.support.queues import each_queue, item_count, new_queue
from zkconsumer.errors import ConsumerTimeout
from zkconsumer.streams.chunk_queue import PythonStore
from zkconsumer.streams.queues import StreamQueue
from zkconsumer.streams.stream_queue import Closed, Failed

pytestmark = pytest.mark.usefixtures(each_queue.__name__)


class Wakeup:
    """Counts how often a producer was notified of capacity."""

    def __init__(self) -> None:
        self.notified = 0

    def signal(self) -> None:
        """Count a notification."""
        self.notified += 1


def test_chunks_come_out_in_the_order_they_went_in() -> None:
    """First in, first out."""
    queue, claim = new_queue(3), claim_of()
    chunks = [chunk_of(claim, [offset]) for offset in range(3)]
    assert all(queue.offer(chunk, ignore) for chunk in chunks)
    assert [queue.take(0) for _ in chunks] == chunks


def test_an_empty_queue_returns_none_after_the_time_out() -> None:
    """An empty queue returns None, both without waiting and after a wait."""
    queue = new_queue(1)
    assert queue.take(0) is None
    assert queue.take(-5) is None
    assert queue.take(10) is None


def test_a_full_queue_refuses_and_notifies_once_of_capacity() -> None:
    """A full queue refuses an offer; the next take notifies its producer, later ones do not."""
    queue, claim, wakeup = new_queue(1), claim_of(), Wakeup()
    queue.offer(chunk_of(claim, [0]), ignore)
    assert not queue.offer(chunk_of(claim, [1]), wakeup.signal)
    assert wakeup.notified == 0
    queue.take(0)
    assert wakeup.notified == 1
    queue.offer(chunk_of(claim, [1]), ignore)
    queue.take(0)
    assert wakeup.notified == 1


def test_offering_again_and_again_to_a_full_queue_leaves_one_call() -> None:
    """A producer whose offers were refused many times is notified once."""
    queue, claim, wakeup = new_queue(1), claim_of(), Wakeup()
    queue.offer(chunk_of(claim, [0]), ignore)
    refused = chunk_of(claim, [1])
    assert not any(queue.offer(refused, wakeup.signal) for _ in range(1_000))
    queue.take(0)
    assert wakeup.notified == 1


def test_every_refused_producer_is_notified_of_capacity() -> None:
    """Of two refused producers both are notified; one gets in, the other waits again."""
    queue, claim, other = new_queue(1), claim_of(), claim_of(T1)
    one, two = Wakeup(), Wakeup()
    queue.offer(chunk_of(claim, [0]), ignore)
    assert not queue.offer(chunk_of(claim, [1]), one.signal)
    assert not queue.offer(chunk_of(other, [5]), two.signal)
    queue.take(0)
    assert (one.notified, two.notified) == (1, 1)
    assert queue.offer(chunk_of(claim, [1]), one.signal)
    assert not queue.offer(chunk_of(other, [5]), two.signal)
    queue.take(0)
    assert (one.notified, two.notified) == (1, 2)


class RacingStore(PythonStore):
    """A store whose stream takes a chunk between an offer's two reads of the number of chunks."""

    def __init__(self, max_chunks: int) -> None:
        super().__init__(max_chunks)
        self.between: list[Callable[[], object]] = []

    @property
    def chunk_count(self) -> int:
        """Return the number of chunks, then let the stream take one."""
        count = super().chunk_count
        if self.between:
            self.between.pop(0)()
        return count


def test_capacity_that_appears_during_an_offer_is_not_missed() -> None:
    """If the stream takes the last chunk during an offer, the offer succeeds or is notified."""
    for reads_before in range(3):
        store, claim, wakeup = RacingStore(1), claim_of(), Wakeup()
        queue = StreamQueue(store, None)
        queue.offer(chunk_of(claim, [0]), ignore)
        store.between = [ignore] * reads_before + [partial(queue.take, 0)]
        taken = queue.offer(chunk_of(claim, [1]), wakeup.signal)
        store.between = []
        queue.take(0)  # what is left, if anything: a refused producer was notified by now
        assert taken or wakeup.notified == 1


def test_chunks_of_given_up_claims_do_not_count() -> None:
    """Chunks that will not be delivered do not fill the queue."""
    queue, old, new = new_queue(1), claim_of(), claim_of()
    queue.offer(chunk_of(old, [0]), ignore)
    old.active = False
    assert queue.chunk_count() == 0
    assert queue.offer(chunk_of(new, [0]), ignore)
    assert not queue.offer(chunk_of(new, [1]), ignore)


def test_discarding_frees_the_records_and_notifies_producers() -> None:
    """When a partition is given up, its queued records are freed and producers are notified."""
    queue, old, other, wakeup = new_queue(2), claim_of(), claim_of(T1), Wakeup()
    dropped, kept = chunk_of(old, [0, 1]), chunk_of(other, [7])
    queue.offer(dropped, ignore)
    queue.offer(kept, ignore)
    assert not queue.offer(chunk_of(other, [8]), wakeup.signal)
    old.active = False
    queue.discard_inactive()
    assert (list(dropped.records), [record.offset for record in kept.records]) == ([], [7])
    assert wakeup.notified == 1


def test_an_error_comes_after_what_is_queued_and_once() -> None:
    """An error is queued after the chunks before it, is taken once, and ends nothing."""
    queue, claim = new_queue(2), claim_of()
    chunk, later, error = chunk_of(claim, [0]), chunk_of(claim, [1]), ConsumerTimeout("any")
    queue.offer(chunk, ignore)
    queue.fail(error)
    queue.offer(later, ignore)
    assert queue.take(0) is chunk
    failed = queue.take(0)
    assert isinstance(failed, Failed)
    assert failed.error is error
    assert queue.take(0) is later
    assert queue.take(0) is None


def test_errors_and_the_end_do_not_count_as_chunks() -> None:
    """Only chunks fill a queue: an error keeps no data out."""
    queue, claim = new_queue(1), claim_of()
    queue.fail(ConsumerTimeout("one"))
    queue.fail(ConsumerTimeout("two"))
    assert queue.offer(chunk_of(claim, [0]), ignore)


def test_the_end_comes_after_what_is_queued_and_repeats() -> None:
    """After the last chunk every take returns the end, without waiting."""
    queue, claim = new_queue(2), claim_of()
    chunk = chunk_of(claim, [0])
    queue.offer(chunk, ignore)
    queue.close()
    assert queue.take(None) is chunk
    assert all(isinstance(queue.take(None), Closed) for _ in range(5))


def test_closing_twice_is_closing_once() -> None:
    """Closing a queue twice adds nothing to it."""
    queue = new_queue(1)
    queue.close()
    queue.close()
    assert all(isinstance(queue.take(0), Closed) for _ in range(10))
    assert item_count(queue) <= 2


def test_a_signal_handler_may_end_a_stream_wherever_it_interrupts_it() -> None:
    """A signal handler may close a queue at any line of a take: the end is not lost or late."""
    for stop_at in range(40):
        queue, claim = new_queue(2), claim_of()
        queue.offer(chunk_of(claim, [0]), ignore)
        interrupted = interrupt_at_line(stop_at, queue.close, partial(queue.take, 0))
        items = [queue.take(0) for _ in range(3)]
        if not interrupted:
            assert stop_at > 5
            break
        assert isinstance(items[-1], Closed)
