"""On real threads: what the unit tests of the same name do not hold."""

import json
from pathlib import Path

from tests.support.chunks import T0
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import PartitionFailed
from zkconsumer.fetch.claim import Poison
from zkconsumer.scope import ThreadScope
from zkconsumer.streams.poison import DeadLetterFile


def poison(offset: int = 5, next_offset: int | None = 6, raw: bytes = b"\x00raw\xff") -> Poison:
    """A place that can't be read."""
    return Poison(T0, offset, next_offset, PartitionFailed(T0, offset, "CRC"), raw)


def letters(path: Path) -> DeadLetterFile:
    """A file that tells a fixed time."""
    return DeadLetterFile(path, ManualClock(wall_ms=1_400_000_000_123))


def lines(path: Path) -> list[dict[str, object]]:
    """What was put aside."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_several_streams_write_whole_lines(tmp_path: Path) -> None:
    """Each of theirs, none mixed with another."""
    path = tmp_path / "letters"
    file, scope = letters(path), ThreadScope("letters")

    def write(start: int) -> None:
        for offset in range(start, start + 20):
            file.write(poison(offset, raw=bytes(2_000)))

    for number in range(4):
        scope.spawn(f"stream-{number}", lambda start=number * 20: write(start), stop=lambda: None)  # type: ignore[misc]
    assert scope.close(10_000) == []
    assert scope.first_error() is None
    assert sorted(int(str(line["offset"])) for line in lines(path)) == list(range(80))
