"""A stream whose reader is interrupted by a signal handler that raises, as Ctrl-C's does."""

import gc
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from tests.support.chunks import are_native, chunk_of, claim_of, each_chunk, ignore
from tests.support.interrupting import HandlerRaised
from tests.support.queues import new_queue
from zkconsumer.clock import SystemClock
from zkconsumer.errors import ConsumerTimeout
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.streams.delivery import Delivery
from zkconsumer.streams.message import MessageAndMetadata
from zkconsumer.streams.stream import KafkaStream

pytestmark = pytest.mark.usefixtures(each_chunk.__name__)

PERIOD_S = 0.0001


class Alarm:
    """Raises in the main thread, wherever it is, while ``armed``."""

    def __init__(self) -> None:
        self.armed = False

    def signal(self, _number: int, _frame: FrameType | None) -> None:
        """Handle the signal."""
        if self.armed:
            self.armed = False
            raise HandlerRaised


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """Install a handler of SIGALRM; the garbage collector is off, as it would swallow its error."""
    made = Alarm()
    before = signal.signal(signal.SIGALRM, made.signal)
    gc.disable()
    yield made
    made.armed = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)
    gc.enable()


@pytest.mark.parametrize("delivery", Delivery)
@pytest.mark.parametrize("chunk_count", [1, 2_500])
def test_an_interrupted_reader_misses_nothing(
    alarm: Alarm, chunk_count: int, delivery: Delivery
) -> None:
    """Each message comes once, in order; none counts as delivered before the reader has it."""
    total = 50_000
    size = total // chunk_count
    ahead = 0

    def commit(_claim: PartitionClaim, offset: int) -> bool:
        nonlocal ahead
        ahead = offset
        return True

    claim, queue = claim_of(committed=0), new_queue(chunk_count)
    for first in range(0, total, size):
        assert queue.offer(chunk_of(claim, range(first, first + size)), ignore)
    stream = KafkaStream[bytes, bytes](
        queue, clock=SystemClock(), timeout_ms=0, delivery=delivery, commit_ahead=commit
    )
    got: list[MessageAndMetadata[bytes, bytes]] = []
    interruptions = 0
    while True:
        try:
            alarm.armed = True
            signal.setitimer(signal.ITIMER_REAL, PERIOD_S)
            got.extend(stream)  # no handler runs between taking a message and storing it
        except HandlerRaised:
            interruptions += 1
            assert (claim.consumed_offset or 0) <= (claim.delivered_offset or 0) <= len(got)
            assert ahead >= len(got) or not delivery.commits_ahead
        except ConsumerTimeout:
            alarm.armed = False
            break
    # Within a chunk the native cursor gives no handler a place to run.
    assert interruptions > 10 or (are_native() and chunk_count == 1)
    assert [message.offset for message in got] == list(range(total))
    assert claim.consumed_offset == total
    assert queue.used_bytes() == 0
