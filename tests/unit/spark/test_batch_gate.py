"""Streams end between batches."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from zkconsumer.errors import IllegalState
from zkconsumer.spark.batch_gate import BatchGate

ROWS: Any = None


def test_who_ends_a_stream_waits_for_the_batch_in_hand() -> None:
    """It is written wholly, and no other one is begun."""
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
    with pytest.raises(IllegalState, match="batch 2 comes behind the end"):
        gate(ROWS, 2)
    assert written == [1]


def test_a_batch_that_failed_is_told() -> None:
    """Its error must not get lost because the stream was to end as well."""
    gate = BatchGate(_fail)
    with pytest.raises(ValueError, match="no"):
        gate(ROWS, 1)
    assert gate.shut()


def test_a_gate_travels_open() -> None:
    """To the process in which Spark Connect calls it."""
    gate = pickle.loads(pickle.dumps(BatchGate(_fail)))
    with pytest.raises(ValueError, match="no"):
        gate(ROWS, 1)


def _fail(_rows: object, _number: int) -> None:
    raise ValueError("no")
