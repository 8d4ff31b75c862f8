"""Streams end between two batches, on real threads."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from zkconsumer.errors import IllegalState
from zkconsumer.spark.batch_gate import BatchGate

ROWS: Any = None


def test_ending_a_stream_waits_for_its_current_batch() -> None:
    """That batch is written completely, and no other one is begun."""
    begun, go_on, written = Event(), Event(), list[int]()

    def write(_rows: object, number: int) -> None:
        begun.set()
        assert go_on.wait(30)
        written.append(number)

    gate = BatchGate(write)
    with ThreadPoolExecutor(2) as pool:
        spark = pool.submit(gate, ROWS, 1)
        assert begun.wait(30)
        ending = pool.submit(lambda: (gate.shut(), list(written)))
        assert not ending.done()
        go_on.set()
        assert ending.result(30) == (False, [1])
        spark.result(30)
    with pytest.raises(IllegalState, match="batch 2 can't be written: the stream is ending"):
        gate(ROWS, 2)
    assert written == [1]
