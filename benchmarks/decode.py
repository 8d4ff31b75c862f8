"""Measures both decoders' CPU time per record, by message size and codec, in alternating runs.

    python -m benchmarks.decode [--rounds 7] [--sizes 10,100,1000] [--codecs none,gzip]
                                [--shapes alike,varied,keyed]

Columns: ``zlib`` and ``isal`` are ``records.decode`` up to rows, as a fetcher in Python uses it,
named after the library that computes the CRC (``isal`` is missing if it is not installed).
``records`` also makes the records, with the library or libraries that ``records.checksum`` has
chosen. ``native`` makes the same records with the core. ``walk`` is the core alone, without the
GIL: CRC, decompression, runs. ``messages`` is the walk, after which every message is made, one at a
time, as a stream delivers them. Without a built core the last three are missing.

Values are log-like text, so they compress as real ones do. All have one size (``alike``), between
half and one and a half times that size (``varied``), or the latter with a key of 1 to 32 bytes
(``keyed``). Each round measures every column once, and the median of the rounds counts, so noise
affects all columns alike.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from unittest.mock import patch

from tests.benchmarks.payloads import log_text
from tests.support.chunks import claim_of
from tests.support.native_chunks import cursor_on
from zkconsumer.model import Record
from zkconsumer.records import checksum, decode, keyed, legacy, unkeyed
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec

try:
    from zkconsumer.native import _core
    from zkconsumer.records import native_fetched
except ImportError:
    IS_BUILT = False
else:
    IS_BUILT = True

SET_BYTES = 1 << 20
"""The size of a fetch response by default, before compression."""

BATCH_BYTES = 16_384
"""The size of the sets that producers compress (``batch.size``)."""

ROOM = 1 << 28
REPEATS = 5
SHAPES = ("alike", "varied", "keyed")


@dataclass(frozen=True, slots=True)
class Case:
    """A record set to decode."""

    codec: Codec
    shape: str
    value_bytes: int
    data: bytes
    plain_bytes: int
    count: int


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="10,100,1000")
    parser.add_argument("--codecs", default="none,gzip,snappy,lz4")
    parser.add_argument("--shapes", default=",".join(SHAPES))
    options = parser.parse_args()
    ways = all_ways()
    by_core = f", in the core by {_core.CRC32_NAME}" if IS_BUILT else ""
    sys.stdout.write(
        f"CRC-32 by {checksum.NAME}{by_core}; {options.rounds} rounds, CPU ns a record\n"
    )
    heads = "".join(f"{name:>10}" for name in ways)
    sys.stdout.write(f"{'codec':8}{'shape':8}{'bytes':>6}{'ratio':>7}{heads}\n")
    for codec in map(Codec.__getitem__, options.codecs.upper().split(",")):
        for shape in options.shapes.split(","):
            for size in map(int, options.sizes.split(",")):
                case = a_case(codec, shape, size)
                show(case, measured(case, ways, options.rounds))


def a_case(codec: Codec, shape: str, value_bytes: int) -> Case:
    """Build a record set of about the size of a fetch, in batches if compressed."""
    text = log_text(SET_BYTES * 2)
    chance = random.Random(2)  # noqa: S311 - the same text every time
    count = max(1, SET_BYTES // (value_bytes + 26))

    def some_text(size: int) -> bytes:
        start = chance.randrange(len(text) - size)
        return text[start : start + size]

    some = []
    for offset in range(count):
        spread = 0 if shape == "alike" else value_bytes // 2
        value = some_text(value_bytes + chance.randint(-spread, spread))
        key = some_text(chance.randint(1, 32)) if shape == "keyed" else None
        some.append(Record(offset, key, value))
    step = count if codec is Codec.NONE else max(1, BATCH_BYTES // (value_bytes + 26))
    parts = (some[at : at + step] for at in range(0, count, step))
    data = b"".join(build_message_set(part, codec=codec) for part in parts)
    return Case(codec, shape, value_bytes, data, len(build_message_set(some)), count)


Way = Callable[[bytes], int]


def all_ways() -> dict[str, Way]:
    """Return the columns: each available decoder by name, as a function that counts records."""
    ways: dict[str, Way] = {
        name: partial(by_rows, name, unkeyed.Shapes()) for name in checksum.libraries()
    }
    ways["records"] = by_records
    if IS_BUILT:
        ways |= {"native": by_native, "walk": by_walk, "messages": by_messages}
    return ways


def measured(case: Case, ways: Mapping[str, Way], rounds: int) -> dict[str, float]:
    """Return the median of each column, in nanoseconds per record."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            start = time.process_time_ns()
            counts = {way(case.data) for _ in range(REPEATS)}
            taken = time.process_time_ns() - start
            if counts != {case.count}:
                raise AssertionError(f"{name} found {counts} records instead of {case.count}")
            if number:  # the first round warms up
                times[name].append(taken / REPEATS / case.count)
    return {name: statistics.median(values) for name, values in times.items()}


def by_rows(library: str, shapes: unkeyed.Shapes, data: bytes) -> int:
    """Count all rows, decoded in Python, with the CRC computed by this library."""
    crc32 = checksum.libraries()[library]
    with ExitStack() as stack:
        for module in (legacy, keyed, unkeyed):
            for name in {"crc32_small", "crc32_large"} & set(vars(module)):
                stack.enter_context(patch.object(module, name, crc32))
        stack.enter_context(patch.object(unkeyed, "_shapes", shapes))
        found = decode.decode_record_set(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    return len(found.records)


def by_records(data: bytes) -> int:
    """Count all records, made in Python."""
    return len(
        list(decode.decode_record_set(data, fetch_offset=0, max_decompressed_bytes=ROOM).records)
    )


def runs_of(data: bytes) -> "_core.Runs":
    """Return the runs that the core reads from an intact set."""
    fetched = native_fetched.decode_fetched(data, fetch_offset=0, max_decompressed_bytes=ROOM)
    runs, _ = fetched.take_records()
    assert isinstance(runs, _core.Runs)
    return runs


def by_native(data: bytes) -> int:
    """Count all records, made by the core."""
    return len(list(runs_of(data)))


def by_walk(data: bytes) -> int:
    """Count the records of all runs without making any."""
    return len(runs_of(data))


def by_messages(data: bytes) -> int:
    """Count all messages, made one at a time, and use each value."""
    return sum(message.value is not None for message in cursor_on(claim_of(), data))


def show(case: Case, medians: Mapping[str, float]) -> None:
    """Print a line of the table."""
    cells = "".join(f"{median:>10.1f}" for median in medians.values())
    sys.stdout.write(
        f"{case.codec.name.lower():8}{case.shape:8}{case.value_bytes:>6}"
        f"{case.plain_bytes / len(case.data):>7.1f}{cells}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
