"""Damages the log files of a sandbox's broker."""

from pathlib import Path

from zkconsumer.model import TopicPartition


def damage(disk: Path, tp: TopicPartition, size_before: int) -> None:
    """Flip one bit of the last byte before this position in the log."""
    (segment,) = disk.glob(f"broker-0/**/{tp}/*.log")
    with segment.open("r+b") as file:
        file.seek(size_before - 1)
        (byte,) = file.read(1)
        file.seek(size_before - 1)
        file.write(bytes([byte ^ 1]))


def log_size(disk: Path, tp: TopicPartition) -> int:
    """Return the log's size in bytes."""
    (segment,) = disk.glob(f"broker-0/**/{tp}/*.log")
    return segment.stat().st_size


def overwrite(disk: Path, tp: TopicPartition, data: bytes, at: int) -> None:
    """Overwrite the log's bytes at this position."""
    (segment,) = disk.glob(f"broker-0/**/{tp}/*.log")
    with segment.open("r+b") as file:
        file.seek(at)
        file.write(data)
