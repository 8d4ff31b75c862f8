"""Captures the original's partitions of keys: ``python -m tests.golden.capture_partitions``.

Needs a JDK. Writes data/partitions.json.
"""

import json
import random

from tests.golden.jvm import DATA, run_oracle

PARTITIONS = DATA / "partitions.json"
ORACLE = "PartitionerOracle.java"

_TEXTS = [
    "",
    "a",
    "user-4711",
    "polygenelubricants",  # its hash is Java's smallest number, which has no absolute value
    "Zürich",
    "日本語のキー",
    "🦜 beyond the first plane",
    "k" * 1000,
]
_BINARY = ["00", "ff", "80", "ff00ff", "c328", "e28aff41", "f0288cbc", "7f808182"]


def cases() -> list[tuple[str, int]]:
    """Return keys in hex with numbers of partitions."""
    random_source = random.Random(8)
    keys = [text.encode().hex() for text in _TEXTS] + _BINARY
    keys += [random_source.randbytes(length).hex() for length in range(1, 40)]
    keys += [f"key-{number}".encode().hex() for number in range(150)]
    return [(key, count) for key in keys for count in (1, 3, 8, 2**31 - 1)]


def query_oracle(keyed: list[tuple[str, int]]) -> list[list[int]]:
    """Return the three partitioners' results for each case."""
    lines = run_oracle(ORACLE, [], [f"{key} {count}" for key, count in keyed])
    return [[int(number) for number in line.split()] for line in lines]


def main() -> None:
    """Write the file again."""
    keyed = cases()
    responses = query_oracle(keyed)
    rows = [[key, count, *chosen] for (key, count), chosen in zip(keyed, responses, strict=True)]
    PARTITIONS.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
