"""Ends a stream between two batches."""

from collections.abc import Callable
from threading import Lock

from pyspark.sql import DataFrame

from zkconsumer.errors import IllegalState

_Write = Callable[[DataFrame, int], None]


class BatchGate:
    """Stops a Spark query between batches; Spark itself would interrupt a running batch.

    A copy in another process, as made by Spark Connect, does not end the stream.

    Args:
        write: writes a batch.

    Thread: any.
    """

    def __init__(self, write: _Write) -> None:
        self._write = write
        self._lock = Lock()
        self._is_shut = False
        self._has_failed = False

    def __call__(self, rows: DataFrame, number: int) -> None:
        """Write a batch.

        Raises:
            IllegalState: the stream is ending. Spark runs this batch again when the stream is
                resumed.
        """
        with self._lock:
            if self._is_shut:
                raise IllegalState(f"batch {number} can't be written: the stream is ending")
            self._has_failed = True
            self._write(rows, number)
            self._has_failed = False

    def __reduce__(self) -> "tuple[type[BatchGate], tuple[_Write]]":
        # Locks can't be pickled.
        return BatchGate, (self._write,)

    def shut(self) -> bool:
        """Refuse further batches; wait for the batch that is being written.

        The query must be stopped after this call: stopping waits for Spark's thread, which may wait
        for this gate.

        Returns:
            Whether the last batch failed: then the query ends by itself, with its error.
        """
        with self._lock:
            self._is_shut = True
            return self._has_failed
