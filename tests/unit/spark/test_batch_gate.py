"""Streams end between batches."""

import pickle
from typing import Any

import pytest

from zkconsumer.spark.batch_gate import BatchGate

ROWS: Any = None


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
