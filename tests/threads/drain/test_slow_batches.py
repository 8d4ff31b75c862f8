"""A drain reports a batch that takes long, wherever its output goes."""

import io

from tests.support.manual_clock import ManualClock
from tests.support.waiting import wait_until
from tests.threads.drain.test_progress import MANIFEST, PLAN
from zkconsumer.drain.protocols import ProgressListener
from zkconsumer.drain.slow_batches import SlowBatches, reporting_slow_batches


def test_a_slow_batch_is_reported_each_time_that_its_time_has_doubled() -> None:
    """That makes few lines, however long it takes; the next batch starts again."""
    clock, out = ManualClock(), io.StringIO()
    batches = SlowBatches(ProgressListener(), out, clock=clock)
    batches.report()
    batches.on_landing(PLAN)
    for _ in range(11):
        clock.advance(60_000)
        batches.report()
    assert out.getvalue().splitlines() == [
        f"batch 1 (4,000 offsets) has been running for {minutes} min" for minutes in (2, 4, 8)
    ]
    batches.on_landed(PLAN, MANIFEST)
    clock.advance(600_000)
    batches.report()
    batches.on_landing(PLAN)
    clock.advance(119_999)
    batches.report()
    assert len(out.getvalue().splitlines()) == 3


def test_a_slow_batch_is_reported_while_the_drain_works() -> None:
    """A thread does it, which ends with the run."""
    out = io.StringIO()
    with reporting_slow_batches(ProgressListener(), out, first_ms=20) as listener:
        listener.on_landing(PLAN)
        wait_until(lambda: "batch 1" in out.getvalue(), what="the line")
