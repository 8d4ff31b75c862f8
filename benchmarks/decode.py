"""Nanoseconds a record for both decoders: each message size, each codec, in alternating runs.

    python -m benchmarks.decode [--rounds 7] [--sizes 10,100,1000] [--codecs none,gzip]

Columns: ``definition`` is ``records.decode`` (records made, CRC by zlib). ``native`` is the same
call answered by the core. ``walk`` is the core alone, without the GIL: CRC, decompression, runs.
``messages`` is the walk and then every message made, one at a time, as a stream hands them out.

Values are log-like text, so compressed ones shrink as real ones do; keys are null. One round
measures every column once, and the median of the rounds counts: noise hits all of them.
"""

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zkconsumer.model import Record
from zkconsumer.native import _core
from zkconsumer.records import decode, native_decode
from zkconsumer.records.build import build_message_set
from zkconsumer.records.codecs import Codec

SET_BYTES = 1 << 20
"""What a fetch brings by default, before compression."""

BATCH_BYTES = 16_384
"""What producers put into one compressed set (``batch.size``)."""

ROOM = 1 << 28
COLUMNS = ("definition", "native", "walk", "messages")


@dataclass(frozen=True, slots=True)
class Case:
    """A record set to decode."""

    codec: Codec
    value_bytes: int
    data: bytes
    count: int


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", default="10,100,1000")
    parser.add_argument("--codecs", default="none,gzip,snappy,lz4")
    options = parser.parse_args()
    sys.stdout.write(
        f"CRC-32 by {_core.CRC32_NAME}; medians of {options.rounds} rounds, ns a record\n"
    )
    heads = "".join(f"{name:>12}" for name in COLUMNS)
    sys.stdout.write(f"{'codec':8}{'bytes':>6}{'ratio':>7}{heads}{'faster':>9}{'walk MB/s':>11}\n")
    for codec in map(Codec.__getitem__, options.codecs.upper().split(",")):
        for size in map(int, options.sizes.split(",")):
            case = a_case(codec, size)
            show(case, measured(case, options.rounds))


def a_case(codec: Codec, value_bytes: int) -> Case:
    """Build a set of about a fetch's size, in batches if compressed."""
    text = log_text(SET_BYTES * 2)
    chance = random.Random(2)  # noqa: S311 - the same text every time
    count = max(1, SET_BYTES // (value_bytes + 26))
    some = []
    for offset in range(count):
        start = chance.randrange(len(text) - value_bytes)
        some.append(Record(offset, None, text[start : start + value_bytes]))
    step = count if codec is Codec.NONE else max(1, BATCH_BYTES // (value_bytes + 26))
    parts = (some[at : at + step] for at in range(0, count, step))
    return Case(
        codec, value_bytes, b"".join(build_message_set(p, codec=codec) for p in parts), count
    )


def log_text(size_bytes: int) -> bytes:
    """Lines such as a web server writes."""
    chance = random.Random(1)  # noqa: S311 - the same text every time
    lines, total = [], 0
    while total < size_bytes:
        line = (
            f"10.{chance.randrange(256)}.{chance.randrange(256)}.7 - user{chance.randrange(9999)} "
            f"[11/Mar/2015:10:{chance.randrange(60):02}:{chance.randrange(60):02} +0000] "
            f'"GET /{chance.choice(("shop", "cart", "img", "api/v1"))}/{chance.randrange(99999)} '
            f'HTTP/1.1" {chance.choice((200, 200, 200, 304, 404))} {chance.randrange(90000)}\n'
        )
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()


def measured(case: Case, rounds: int) -> dict[str, float]:
    """The median of each column, in nanoseconds a record."""
    ways: Sequence[tuple[str, Callable[[bytes], int]]] = (
        ("definition", by_definition),
        ("native", by_native),
        ("walk", by_walk),
        ("messages", by_messages),
    )
    times: dict[str, list[float]] = {name: [] for name, _ in ways}
    for number in range(rounds + 1):
        for name, way in ways:
            repeats = 1 if name == "definition" else 5
            start = time.perf_counter_ns()
            counts = {way(case.data) for _ in range(repeats)}
            taken = time.perf_counter_ns() - start
            if counts != {case.count}:
                raise AssertionError(f"{name} found {counts} records instead of {case.count}")
            if number:  # the first one warms up
                times[name].append(taken / repeats / case.count)
    return {name: statistics.median(values) for name, values in times.items()}


def by_definition(data: bytes) -> int:
    """All records, in Python."""
    return len(decode.decode_record_set(data, fetch_offset=0, max_decompressed_bytes=ROOM).records)


def by_native(data: bytes) -> int:
    """All records, by the core."""
    return len(
        native_decode.decode_record_set(data, fetch_offset=0, max_decompressed_bytes=ROOM).records
    )


def by_walk(data: bytes) -> int:
    """Runs, and nothing made of them."""
    runs = native_decode.decode_runs(data, fetch_offset=0, max_decompressed_bytes=ROOM).runs
    return sum(map(len, runs))


def by_messages(data: bytes) -> int:
    """Every message, one at a time, its value used."""
    origin: _core.Origin[bytes, bytes] = _core.Origin("topic", 0)
    count = 0
    for run in native_decode.decode_runs(data, fetch_offset=0, max_decompressed_bytes=ROOM).runs:
        for message in run.messages(origin):
            count += message.value is not None
    return count


def show(case: Case, medians: dict[str, float]) -> None:
    """Print a line."""
    plain_bytes = case.count * (case.value_bytes + 26)
    cells = "".join(f"{medians[name]:>12.1f}" for name in COLUMNS)
    speed = plain_bytes / (medians["walk"] * case.count) * 1000
    ratio = plain_bytes / len(case.data)
    sys.stdout.write(
        f"{case.codec.name.lower():8}{case.value_bytes:>6}{ratio:>7.1f}{cells}"
        f"{medians['definition'] / medians['native']:>8.1f}x{speed:>11.0f}\n"
    )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
