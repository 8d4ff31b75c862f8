"""Record sets captured from real brokers; ``tests.golden.capture_records`` captures them again."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from tests.golden.capture_records import GoldenSet
from tests.support.engines import each_engine, needs_native
from tests.support.record_sets import ROOM, decode
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.entries import entry_at

__all__ = ["each_engine"]
pytestmark = pytest.mark.usefixtures("each_engine")

DATA = Path(__file__).parent.parent / "data"
SETS: dict[str, GoldenSet] = {
    f"{path.stem.removeprefix('records-')} {item['name']}": item
    for path in sorted(DATA.glob("records-*.json"))
    for item in json.loads(path.read_text())
}
WHOLE = [name for name, captured in SETS.items() if not captured["cut_off"]]
CUT_OFF = [name for name, captured in SETS.items() if captured["cut_off"]]
LZ4_CHECKSUMS = {0: 0x1A, 1: 0x82}


def records_of(golden_set: GoldenSet) -> list[Record]:
    """Return the records of a captured set."""
    return [
        Record(
            int(offset),
            str(key).encode(),
            str(value).encode(),
            int(stamp),
            TimestampType(int(kind)),
        )
        for offset, key, value, stamp, kind in golden_set["records"]
    ]


def test_every_format_was_captured() -> None:
    """There are both magics, with every codec, from both producers of 0.8.2."""
    assert {(set_["magic"], set_["codec"]) for set_ in SETS.values()} == {
        (magic, codec.name) for magic in (0, 1) for codec in CODECS_OF_MESSAGES
    }
    assert len(CUT_OFF) == 2


@pytest.mark.parametrize("name", WHOLE)
def test_captured_sets_decode(name: str) -> None:
    """From any offset, each record has its offset, key, value and timestamp."""
    golden_set = SETS[name]
    data = bytes.fromhex(golden_set["hex"])
    expected = records_of(golden_set)
    for offset in range(golden_set["fetch_offset"], len(expected)):
        decoded = decode(data, offset)
        assert decoded.error is None
        assert decoded.records == [record for record in expected if record.offset >= offset]
        assert decoded.next_offset == expected[-1].offset + 1
        assert decoded.valid_bytes == len(data)


@needs_native
@pytest.mark.parametrize("name", SETS)
def test_captured_sets_are_not_refused(name: str) -> None:
    """The native core reads everything that brokers send without falling back."""
    core = import_module("zkconsumer.native._core")
    data = bytes.fromhex(SETS[name]["hex"])
    reader = core.SetReader(data, fetch_offset=0, bound_bytes=ROOM, enough_bytes=ROOM)
    assert reader.read() == core.ENDS


@pytest.mark.parametrize("name", CUT_OFF)
def test_truncated_sets_decode_to_their_complete_entries(name: str) -> None:
    """An entry that the broker truncated at the fetch size is omitted without an error."""
    golden_set = SETS[name]
    decoded = decode(bytes.fromhex(golden_set["hex"]))
    assert decoded.error is None
    assert 0 < len(decoded.records) < len(golden_set["records"])
    assert decoded.records == records_of(golden_set)[: len(decoded.records)]
    assert decoded.next_offset == len(decoded.records)


@pytest.mark.parametrize("name", WHOLE)
def test_captured_sets_have_the_named_format(name: str) -> None:
    """The first entry has the magic and codec, and lz4 headers have their format's checksum."""
    golden_set = SETS[name]
    data = bytes.fromhex(golden_set["hex"])
    entry = entry_at(data, 0)
    assert entry is not None
    assert entry.magic == golden_set["magic"]
    assert data[17] & 7 == Codec[golden_set["codec"]]
    if golden_set["codec"] == "LZ4":
        value_at = 26 + 8 * golden_set["magic"]
        assert data[value_at + 6] == LZ4_CHECKSUMS[golden_set["magic"]]


@pytest.mark.parametrize("name", [name for name in WHOLE if SETS[name]["codec"] == "NONE"])
def test_plain_sets_are_built_byte_for_byte(name: str) -> None:
    """Without compression there is only one way to write a set, and ours is equal."""
    golden_set = SETS[name]
    assert (
        build_message_set(records_of(golden_set), magic=golden_set["magic"]).hex()
        == golden_set["hex"]
    )
