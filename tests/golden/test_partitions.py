"""The partitions of keys, by the original's three partitioners and by ours.

``python -m tests.golden.capture_partitions`` captures them again.
"""

import json

from tests.golden.capture_partitions import PARTITIONS
from zkconsumer.produce.partitioner import PARTITIONERS, key_hash


def test_keys_have_the_originals_partitions() -> None:
    """They agree for text, other bytes, a hash without an absolute value, and many partitions."""
    rows = json.loads(PARTITIONS.read_text())
    hashes = [key_hash(name) for name in PARTITIONERS]
    wrong = [
        row
        for row in rows
        if row[2:] != [hash_of(bytes.fromhex(row[0])) % row[1] for hash_of in hashes]
    ]
    assert wrong == []
    assert len(rows) >= 800
    assert len({tuple(row[2:]) for row in rows}) > 200
