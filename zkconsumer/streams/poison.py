"""Policies for an unreadable part of the log (``poison.policy``).

``raise``: the stream raises, and the partition stops. ``skip``: the part is logged and skipped.
``dead_letter``: before that it is written to a file, with its raw bytes and its position. No policy
skips a part whose end is unknown: that raises.

A dead letter is on the disk before the stream moves on, so a crash in between can repeat a line but
never lose one.
"""

import base64
import json
import logging
import os
import stat
import threading
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from zkconsumer.clock import Clock
from zkconsumer.errors import ConfigError, DeadLetterFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.observe import SILENT, ErrorSeen, MessagePoisoned, Observation

log = logging.getLogger(__name__)
_KEY = "poison.dead.letter.file"


class PoisonMode(StrEnum):
    """The values of ``poison.policy``."""

    RAISE = "raise"
    SKIP = "skip"
    DEAD_LETTER = "dead_letter"


class DeadLetterFile:
    r"""A file of JSON objects, one per line, that is only appended to.

    The fields: ``topic``, ``partition``, ``offset``, ``next_offset`` (reading resumed there),
    ``reason``, ``time`` (UTC), ``raw`` (base64 of the entry as in the log) and ``raw_is_whole``
    (false if only its beginning was fetched). An incomplete line is from a write that failed; the
    next line repeats it.

    The file is opened for each line, so it may be moved away at any time. Several processes may
    share it: each line is one write.

    Args:
        path: the file; created if missing, for its owner alone.
        clock: for ``time``.

    Raises:
        ConfigError: the file can't be written.
    """

    def __init__(self, path: str | Path, clock: Clock) -> None:
        if not str(path):
            raise ConfigError(f"{_KEY} must name a file with poison.policy=dead_letter")
        self.path = Path(path)
        self._clock = clock
        self._writer = threading.Lock()
        try:
            self._append(b"")
        except OSError as error:
            raise ConfigError(f"{_KEY}={self.path} can't be written: {error.strerror}") from error

    def write(self, poison: Poison) -> None:
        """Append a line and wait until it is on the disk. Thread: any.

        Raises:
            DeadLetterFailed: the line is not on the disk, or may not be.
        """
        line = json.dumps(self._fields(poison)).encode() + b"\n"
        try:
            with self._writer:
                self._append(line)
        except OSError as error:
            raise DeadLetterFailed(
                f"{poison.topic_partition} offset {poison.offset}: can't be read, and can't be "
                f"saved in {_KEY}={self.path}: {error.strerror}; the stream stays before it"
            ) from error

    def _fields(self, poison: Poison) -> dict[str, object]:
        at = datetime.fromtimestamp(self._clock.wall_ms() / 1000, UTC)
        return {
            "topic": poison.topic_partition.topic,
            "partition": poison.topic_partition.partition,
            "offset": poison.offset,
            "next_offset": poison.next_offset,
            "reason": str(poison.error),
            "time": at.isoformat(timespec="milliseconds"),
            "raw": base64.b64encode(poison.raw).decode(),
            "raw_is_whole": poison.raw_is_whole,
        }

    def _append(self, line: bytes) -> None:
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
        file = os.open(self.path, flags, 0o600)
        try:
            status = os.fstat(file)
            if not stat.S_ISREG(status.st_mode):
                raise OSError(0, "not a regular file")
            if line:
                _write_line(file, line, status.st_size)
            os.fsync(file)
        finally:
            os.close(file)
        if is_new:
            _sync_directory(self.path.parent)


def _write_line(file: int, line: bytes, size_bytes: int) -> None:
    # A line cut short by a full disk or a crash must not swallow this one.
    if size_bytes and os.pread(file, 1, size_bytes - 1) != b"\n":
        line = b"\n" + line
    written = os.write(file, line)
    if written != len(line):
        raise OSError(0, f"only {written} of {len(line)} bytes could be written")


def _sync_directory(path: Path) -> None:
    directory = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class PoisonPolicy:
    """Decides whether a stream may go on after an unreadable part.

    Args:
        mode: ``poison.policy``.
        dead_letters: the file for ``dead_letter``, which needs it; else None.
        observation: receives every ``MessagePoisoned``.

    Raises:
        ConfigError: ``dead_letter`` without a file.
    """

    def __init__(
        self,
        mode: PoisonMode = PoisonMode.RAISE,
        *,
        dead_letters: DeadLetterFile | None = None,
        observation: Observation = SILENT,
    ) -> None:
        if (mode is PoisonMode.DEAD_LETTER) != (dead_letters is not None):
            raise ConfigError(f"poison.policy={mode} can't be used with {_KEY}")
        self.mode = mode
        self._dead_letters = dead_letters
        self._observation = observation

    def handle(self, poison: Poison) -> None:
        """Apply the policy; raise unless the stream may go on after it. Thread: a stream's.

        Raises:
            ZkConsumerError: the poison's own error: the partition stops here.
            DeadLetterFailed: it could not be saved; call this again to retry.
        """
        if self.mode is PoisonMode.RAISE or poison.next_offset is None:
            self._report(poison, PoisonMode.RAISE)
            raise poison.error
        if self._dead_letters is not None:
            try:
                self._dead_letters.write(poison)
            except DeadLetterFailed as error:
                self._observation.report(ErrorSeen("dead letters", error))
                raise
        log.error(
            "%s: continuing at offset %d without the records before it (%s): %s",
            f"{poison.topic_partition}",
            poison.next_offset,
            self.mode,
            poison.error,
        )
        self._report(poison, self.mode)

    def _report(self, poison: Poison, done: PoisonMode) -> None:
        self._observation.report(
            MessagePoisoned(
                poison.topic_partition,
                poison.offset,
                poison.next_offset,
                done.value,
                str(poison.error),
            )
        )


RAISE = PoisonPolicy()
"""The policy that always raises, without an observation."""
