"""Keeps a stream's checkpoint in Spark's layout: either engine can resume the other's.

``offsets/7`` holds the end of batch 7 and is written before the batch is read; ``commits/7``
records its completion. So an interrupted batch is repeated with the same number and the same
messages.

Source: Spark 3.5 and 4.3 ``OffsetSeqLog``, ``CommitLog``, ``StreamMetadata``; their version 1.
"""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from zkconsumer.errors import ConfigError
from zkconsumer.spark.stream_offsets import StreamOffsets

KEPT: Final = 100
"""The number of batches whose records are kept, as in Spark."""

_VERSION = "v1"
_DONE = f'{_VERSION}\n{{"nextBatchWatermarkMs":0}}'.encode()
_METADATA = "metadata"


class CheckpointFiles(Protocol):
    """The files of one checkpoint, by relative path; methods raise ``ZkConsumerError``."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the names in a folder; empty if there is no such folder."""
        ...

    def read(self, path: str) -> bytes:
        """Read an existing file."""
        ...

    def create(self, path: str, data: bytes) -> bool:
        """Write a whole file; return False, without a change, if it exists."""
        ...

    def delete(self, path: str) -> None:
        """Delete a file if it exists."""
        ...


class Checkpoint:
    """Records planned and finished batches for the next driver. Thread: one.

    Args:
        files: the checkpoint's files.
        where: the checkpoint's path, for messages.
    """

    def __init__(self, files: CheckpointFiles, where: str) -> None:
        self._files = files
        self._where = where

    def begin(self) -> None:
        """Write the query id that Spark requires, unless there is one."""
        if _METADATA not in self._files.names(""):
            self._files.create(_METADATA, json.dumps({"id": str(uuid.uuid4())}).encode())

    def last_planned(self) -> int | None:
        """Return the number of the last planned batch, which Spark calls its id; None: none yet."""
        return max(self._numbers("offsets"), default=None)

    def planned_end(self, number: int) -> StreamOffsets:
        """Read the end of a planned batch.

        Raises:
            ConfigError: the record was written by another kind of query, or another version.
        """
        path = f"offsets/{number}"
        return _offsets(self._files.read(path), f"{self._where}/{path}")

    def is_done(self, number: int) -> bool:
        """Return whether a batch is complete."""
        return number in self._numbers("commits")

    def plan(self, number: int, end: StreamOffsets, *, now_ms: int) -> None:
        """Record a batch by its end, before any of it is read.

        Raises:
            ConfigError: another query recorded it: two queries share a checkpoint.
        """
        self._add(f"offsets/{number}", _planned(end, now_ms))

    def done(self, number: int) -> None:
        """Record that a batch is complete; delete old records.

        Raises:
            ConfigError: as ``plan``.
        """
        self._add(f"commits/{number}", _DONE)
        if number >= KEPT:
            self._files.delete(f"offsets/{number - KEPT}")
            self._files.delete(f"commits/{number - KEPT}")

    def _add(self, path: str, data: bytes) -> None:
        if not self._files.create(path, data):
            raise ConfigError(
                f"checkpoint {self._where}: {path} was written by another query that has the same "
                "checkpoint: give each its own"
            )

    def _numbers(self, folder: str) -> set[int]:
        return {int(name) for name in self._files.names(folder) if name.isdecimal()}


def _planned(end: StreamOffsets, now_ms: int) -> bytes:
    meta = {"batchWatermarkMs": 0, "batchTimestampMs": now_ms, "conf": {}}
    return "\n".join([_VERSION, json.dumps(meta), json.dumps(end.to_json())]).encode()


def _offsets(data: bytes, path: str) -> StreamOffsets:
    try:
        version, _, *sources = data.decode().splitlines()
        values = [json.loads(source) for source in sources]
    except ValueError as error:
        raise ConfigError(f"checkpoint: {path} can't be read: {error}") from error
    if version != _VERSION:
        raise ConfigError(f"checkpoint: {path} is of version {version[:20]!r}, not {_VERSION}")
    match values:
        case [Mapping() as offsets]:
            return StreamOffsets.from_json(offsets)
        case _:
            raise ConfigError(f"checkpoint: {path} is of a query with {len(values)} sources, not 1")
