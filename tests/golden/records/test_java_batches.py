"""Batches as Kafka's classes write and read them; ``capture_batches`` captures them again."""

import json

import pytest

from tests.golden.capture_batches import BATCHES, MARKERS, Golden, cases, in_hex, our_marker
from tests.support.batches import decode
from tests.support.engines import each_engine
from zkconsumer.records.batch_header import sound_header
from zkconsumer.records.codecs import Codec
from zkconsumer.records.entries import entry_at

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

SETS: dict[str, Golden] = {
    captured["name"]: captured for captured in json.loads(BATCHES.read_text())
}
CASES = {case.name: case for case in cases()}


def described(data: bytes) -> str:
    """Return a batch's description in the oracle's format."""
    entry = entry_at(data, 0)
    assert entry is not None
    head = sound_header(data, entry)
    parts = [
        *(head.base_offset, head.last_offset, head.leader_epoch, head.producer_id),
        *(head.producer_epoch, head.base_sequence, head.is_transactional, head.is_control),
    ]
    words = [",".join(map(str, parts)).replace("True", "true").replace("False", "false")]
    decoded = decode(data)
    assert decoded.error is None
    assert decoded.next_offset == head.last_offset + 1
    for at, record in enumerate(decoded.records):
        fields = [str(record.offset), str(record.timestamp), str(int(record.timestamp_type))]
        fields += [in_hex(record.key), in_hex(record.value)]
        fields += [
            f"{name.encode().hex()}={in_hex(value)}" for name, value in decoded.headers.get(at, ())
        ]
        words.append(":".join(fields))
    return " ".join(words)


@pytest.mark.parametrize("name", [name for name in SETS if "marker" not in name])
def test_batches_are_read_as_kafka_does(name: str) -> None:
    """Offsets, times, contents and headers agree for Kafka's batches, compacted ones, and ours."""
    one = SETS[name]
    assert described(bytes.fromhex(one["hex"])) == one["read"]


@pytest.mark.parametrize("name", CASES)
def test_batches_are_written_as_kafka_does(name: str) -> None:
    """Uncompressed batches are equal byte for byte; in others Kafka reads the same records."""
    theirs, ours = SETS[f"Kafka's {name}"], SETS[f"our {name}"]
    assert ours["read"] == theirs["read"]
    if CASES[name].codec is Codec.NONE:
        assert CASES[name].ours().hex() == ours["hex"] == theirs["hex"]


@pytest.mark.parametrize("name", MARKERS)
def test_markers_are_written_as_kafka_does(name: str) -> None:
    """They are equal byte for byte, and contain no records."""
    one = SETS[f"Kafka's {name} marker"]
    assert our_marker(name).hex() == one["hex"]
    assert described(bytes.fromhex(one["hex"])) == one["read"].split(" ")[0]


def test_every_kind_of_batch_was_captured() -> None:
    """There are batches with each codec, some of them empty."""
    assert {bytes.fromhex(set_["hex"])[22] & 7 for set_ in SETS.values()} == set(Codec)
    assert sum("compacted to []" in name for name in SETS) >= 1
    assert any(" " not in set_["read"] for set_ in SETS.values())
