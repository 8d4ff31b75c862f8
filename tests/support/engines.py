"""One suite for both decoders: a module that uses ``each_engine`` runs once with each.

The native one never runs alone: whatever it is given goes to the definition as well, and every
part of the two results must be the same.
"""

from collections.abc import Iterator

import pytest

from tests.support import record_sets
from zkconsumer.errors import CorruptRecord
from zkconsumer.records.decode import DecodedSet, decode_record_set
from zkconsumer.records.engine import Engine

try:
    from zkconsumer.records import native_decode
except ImportError:
    IS_BUILT = False
else:
    IS_BUILT = True

needs_native = pytest.mark.skipif(not IS_BUILT, reason="the native core is not built")


@pytest.fixture(
    scope="module",
    params=[Engine.PURE, pytest.param(Engine.NATIVE, marks=needs_native)],
    ids=str,
)
def each_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Have ``record_sets.decode`` use one decoder after the other."""
    before = record_sets.decoder
    record_sets.decoder = both if request.param is Engine.NATIVE else decode_record_set
    yield request.param
    record_sets.decoder = before


def both(
    data: bytes | memoryview,
    *,
    fetch_offset: int,
    max_decompressed_bytes: int,
    enough_bytes: int | None = None,
) -> DecodedSet:
    """Decode natively, and check that the definition says the same.

    What the core refuses and the definition takes is no fault as such (there may be no room left;
    and the lz4 library takes copies from distance 0): tests of sound sets look at ``refused_at``.
    """
    runs = native_decode.decode_runs(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
    )
    found = native_decode.with_records(runs)
    expected = decode_record_set(
        data,
        fetch_offset=fetch_offset,
        max_decompressed_bytes=max_decompressed_bytes,
        enough_bytes=enough_bytes,
    )
    assert facts_of(found) == facts_of(expected)
    if expected.error is not None:
        assert runs.refused_at == expected.error.position
    return found


def facts_of(decoded: DecodedSet) -> list[object]:
    """All that a decoded set says, in a form that compares; types count."""
    return [
        [(type(one), [(type(field), field) for field in one]) for one in decoded.records],
        decoded.next_offset,
        decoded.valid_bytes,
        decoded.first_entry_size_bytes,
        error_facts(decoded.error),
        decoded.memory_bytes,
    ]


def error_facts(error: CorruptRecord | None) -> object:
    """All that an error says."""
    if error is None:
        return None
    return (
        type(error),
        str(error),
        error.reason,
        error.offset,
        error.position,
        error.next_offset,
        error.raw,
    )
