"""The gate of ``foreachBatch`` ends a stream between two batches."""

import pickle
from typing import Any

import pytest

from zkconsumer.spark.batch_gate import BatchGate

ROWS: Any = None


def test_the_error_of_a_batch_is_raised() -> None:
    """The error of a batch is raised even if the stream was about to stop."""
    gate = BatchGate(_fail)
    with pytest.raises(ValueError, match="no"):
        gate(ROWS, 1)
    assert gate.shut()


def test_a_pickled_gate_is_open() -> None:
    """A pickled gate is open, in the process in which Spark Connect calls it."""
    gate = pickle.loads(pickle.dumps(BatchGate(_fail)))
    with pytest.raises(ValueError, match="no"):
        gate(ROWS, 1)


def _fail(_rows: object, _number: int) -> None:
    raise ValueError("no")
