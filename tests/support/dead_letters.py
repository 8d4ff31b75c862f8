"""Poisonous records, and the dead letter file that they are written to."""

import json
from pathlib import Path

from tests.support.chunks import T0
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.streams.poison import DeadLetterFile


def poison(offset: int = 5, next_offset: int | None = 6, raw: bytes = b"\x00raw\xff") -> Poison:
    """Return a record that can't be read."""
    return Poison(T0, offset, next_offset, PartitionFailed(T0, offset, "CRC"), raw)


def dead_letter_file(path: Path) -> DeadLetterFile:
    """Return a dead letter file with a fixed clock."""
    return DeadLetterFile(path, ManualClock(wall_ms=1_400_000_000_123))


def dead_letters(path: Path) -> list[dict[str, object]]:
    """Return the entries of a dead letter file."""
    return [json.loads(line) for line in path.read_text().splitlines()]
