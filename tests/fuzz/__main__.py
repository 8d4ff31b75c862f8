"""Fuzzes the native core under the address and undefined-behaviour sanitizers.

    python -m tests.fuzz --seconds 60 --seed 1     reads damaged sets; a fault ends it
    python -m tests.fuzz --plants                  breaks one bound after the other: all to be found

It begins with the record sets captured from real brokers, and with larger ones made here. Reading,
queues, Arrow columns and the fetch loop get them, the loop over a socket as well, while some of the
core's allocations fail. The same seed gives the same sets on any machine.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.batches import with_head
from tests.support.markers import build_marker
from zkconsumer.model import Record, TimestampType
from zkconsumer.records.batch_header import CONTROL_MASK
from zkconsumer.records.build import build_message_set
from zkconsumer.records.build_batch import BatchTraits, build_batch
from zkconsumer.records.codecs import CODECS_OF_MESSAGES, Codec
from zkconsumer.records.transactions import Marker

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
SOURCES = ROOT / "zkconsumer" / "native" / "csrc"
WORK = ROOT / ".fuzz"
FLAGS = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fno-omit-frame-pointer"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
LIBRARIES = [f"-DZK_WITH_{name}" for name in ("ZLIB", "LZ4", "ZSTD")]
LINKED = ["-lz", "-llz4", "-lzstd"]
ALLOCATORS = [f"-D{name}=fuzz_{name}" for name in ("malloc", "calloc", "realloc")]


class Plant(NamedTuple):
    """A fault to plant: in a file, put one text in the place of another."""

    file: str
    sound: str
    faulty: str


PLANTS = (
    Plant("message.h", "if (end - at < 4)", "if (end - at < 0)"),
    Plant("message.h", "message->value_bytes == left ||", "message->value_bytes >= left ||"),
    Plant(
        "walk.c", "if (found.size > set->stop - *position - ZK", "if (found.size > set->stop - ZK"
    ),
    Plant("varint.c", "shift < bits && at < end;", "shift < bits && end;"),
    Plant("record.h", "|| size < 1 || size > end - at)", "|| size < 1)"),
    Plant("record.c", "    return at == end;", "    return true;"),
    Plant("batch.c", "if (size < MIN_BATCH_SIZE)", "if (size < 20)"),
    Plant("batch.c", "batch->base_offset >= INT64_MAX - batch->last_delta", "false"),
    Plant(
        "batch.c",
        "__builtin_add_overflow(run->base_time, front->time_delta, &message->timestamp)",
        "(message->timestamp = run->base_time + front->time_delta) == 0",
    ),
    Plant("batch.c", "front.offset_delta <= last ||", ""),
    Plant("batch.c", "    return at == end;", "    return true;"),
    Plant("batch.c", "message.key_bytes < MARKER_KEY_BYTES || ", ""),
    Plant("committed.c", "qsort(filter->producers, filter->count", "qsort(filter->producers, 0"),
    Plant("fetched.c", "    fetched->first += whole;\n", ""),
    Plant("snappy.c", "|| length > (size_t)(end - at) ||", "||"),
    Plant("snappy.c", "offset > (size_t)(out - start)", "offset > (size_t)(out - start) + 4096"),
    Plant("snappy.c", "length > free_bytes || offset == 0", "offset == 0"),
    Plant("lz4.c", "size < MIN_HEADER_BYTES || ", ""),
    Plant("sink.h", "buffer->capacity - ZK_SLACK_BYTES -", "buffer->capacity + 4096 -"),
    Plant("sink.h", "there < free_bytes ? there : free_bytes}", "there}"),
    Plant("gzip.c", "(uInt)most;", "(uInt)most + 4096;"),
    Plant("gzip.c", "    free(memory);", "    (void)memory;"),
    Plant("chunk.c", "        zk_buffer_share(runs->items[copy->count].buffer);", ""),
    Plant("chunk.c", "*bytes += run->size;\n        count++;", "count++;"),
    Plant("chunk.c", "        run->start = at;", ""),
    Plant("queue.c", "queue->end = link;", "(void)link;"),
    Plant("queue.c", "used <= queue->share_bytes - size_bytes", "used <= queue->share_bytes"),
    Plant("queue_stream.c", "queue->first->runs = (zk_runs){0};", ""),
    Plant(
        "queue_stream.c",
        "zk_queue_unlink(queue, &queue->first);\n        queue->pending",
        "queue->pending",
    ),
    Plant("buffer.c", "!= 1)\n        return;", "> 2)\n        return;"),
    Plant("response.c", "there < response->set_left ? there : response->set_left", "there"),
    Plant(
        "response.c",
        "free_bytes < response->set_left ? free_bytes : response->set_left;\n    if",
        "(response->set_left);\n    if",
    ),
    Plant("response.c", "there < response->skip_left ? there : response->skip_left", "there"),
    Plant("response.c", "&& end ? count_end(response, end) : start", "&& end ? end : start"),
    Plant("fetch_plan.c", "index < slots->count ? index : index - slots->count", "index"),
    Plant(
        "unpack.c",
        "fetch_offset = next_offset;\n        unpacker",
        "at = next_offset;\n        unpacker",
    ),
    Plant("order.c", "(size_t)entry_size <= left", "(size_t)entry_size <= left + 64"),
    Plant(
        "order.c",
        "!__builtin_add_overflow(*last, (int64_t)delta, last)",
        "(*last = *last + delta) >= 0",
    ),
    Plant("slots.c", "zk_buffer_drop(slot->next.bytes);\n        zk_claim", "zk_claim"),
    Plant("arrow.c", "if (bytes > column->capacity - at ||", "if ("),
    Plant("arrow.c", "row == columns->rows ||", ""),
    Plant("chunk.c", "        *first = before;\n", "        (void)before;\n"),
    Plant("run.c", "        if (!items)\n            return false;\n", ""),
    Plant("queue.c", "    if (!front) {\n        zk_queue_leave(queue);", "    if (!front) {"),
    Plant("exchange.c", "space->size[0]}, {", "space->size[0] + 64}, {"),
    Plant("unpack.c", "return slot->until_offset >= 0 && cut", "return slot->topic && cut"),
    Plant("unpack.c", "    give_up(slot);\n    slot->is_behind", "    slot->is_behind"),
    Plant("slots.c", "(last->bytes && zk_slot_ends_by", "(!last && zk_slot_ends_by"),
    Plant("slots.c", "if (slot->outlet->first == slot)", "if (!slot->outlet->queue)"),
    Plant("fetch_plan.c", "    set->bytes->used = set->headers.position;\n", ""),
    Plant("fetch_plan.c", "if (!zk_slot_ends_by(slot, set->headers.low))", "if (slot)"),
    Plant(
        "fetch_plan.c", "slot->is_passed_over && slot->until", "slot->is_passed_over || slot->until"
    ),
    Plant(
        "fetch_plan.c",
        "return size > needed ? size : needed",
        "return needed < part ? size : needed",
    ),
)


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plants", nargs="?", const="", help="check that faults in FILE are found")
    options = parser.parse_args()
    seeds = write_seeds(WORK / "seeds")
    if options.plants is None:
        done = run(build(SOURCES, WORK / "sound"), options.seed, options.seconds, seeds)
        sys.stdout.write(done.stdout + done.stderr)
        return done.returncode
    chosen = [plant for plant in PLANTS if options.plants in plant.file]
    missed = [plant for plant in chosen if not is_found(plant, options.seed, seeds)]
    return len(missed)


def write_seeds(folder: Path) -> list[Path]:
    """Write the sets to begin with, each into a file."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for number, data in enumerate(sound_sets()):
        paths.append(folder / f"{number:03}.set")
        paths[-1].write_bytes(data)
    return paths


def sound_sets() -> Iterator[bytes]:
    """The captured sets, and such as make the codecs use all that they have."""
    for path in sorted((ROOT / "tests/golden/data").glob("records-*.json")):
        for entry in json.loads(path.read_text()):
            yield bytes.fromhex(entry["hex"])
    chance = random.Random(1)
    words = [b"GET", b"/index.html", b"200", b"user=%d", b"ms", b"\n", b"2015-03-11T10:17:09"]
    for magic in (0, 1):
        for codec in CODECS_OF_MESSAGES:
            texts = [b" ".join(chance.choices(words, k=chance.randrange(40))) for _ in range(150)]
            noise = [chance.randbytes(chance.randrange(300)) for _ in range(20)]
            values = [None, b"", bytes(3000), *texts, *noise]
            some = [
                Record(
                    at, None if at % 3 else b"key %d" % at, value, 1_426_000_000_000 + at * magic
                )
                for at, value in enumerate(values)
            ]
            yield build_message_set(some, magic=magic, codec=codec)
    yield from sound_batches(chance)


def sound_batches(chance: random.Random) -> Iterator[bytes]:
    """Batches that Kafka's own classes wrote, and such as have all that batches can have."""
    for captured in json.loads((ROOT / "tests/golden/data/batches.json").read_text()):
        yield bytes.fromhex(captured["hex"])
    for codec in (*CODECS_OF_MESSAGES, Codec.ZSTD):
        for count in (1, 3, 200):
            yield batch_of(chance, codec, count, producer_id=-1)
        in_transaction = batch_of(chance, codec, 5, producer_id=4)
        for kind in (Marker.ABORT, Marker.COMMIT):
            traits = BatchTraits(producer_id=4, producer_epoch=0, is_transactional=True)
            marker = build_marker(kind, 60, timestamp=1, traits=traits)
            behind = batch_of(chance, codec, 2, producer_id=4, first=61)
            yield in_transaction + marker + behind
    nothing = Record(7, None, None, 1, TimestampType.CREATE_TIME)
    yield with_head(build_batch([nothing]), attributes=CONTROL_MASK)  # a marker that says nothing


def batch_of(
    chance: random.Random, codec: Codec, count: int, *, producer_id: int, first: int = 0
) -> bytes:
    """A batch of records with gaps, nulls and headers."""
    offsets = sorted(chance.sample(range(first, first + 3 * count), count))
    some = [
        Record(
            offset,
            chance.choice([None, b"", b"key %d" % offset]),
            chance.choice([None, b"", chance.randbytes(70), b"value %d " % offset * 20]),
            1_700_000_000_000 + chance.randrange(-100, 100_000),
            TimestampType.CREATE_TIME,
        )
        for offset in offsets
    ]
    headers = dict.fromkeys(range(0, count, 3), (("trace", b"1"), ("n", None), ("", b"")))
    traits = BatchTraits(
        base_offset=first,
        last_offset=first + 3 * count,
        leader_epoch=3,
        producer_id=producer_id,
        is_transactional=producer_id >= 0,
    )
    return build_batch(some, codec=codec, headers=headers, traits=traits)


def build(sources: Path, program: Path) -> Path:
    """Compile the harness with the core."""
    program.parent.mkdir(parents=True, exist_ok=True)
    compiler = ["gcc", *FLAGS, *SANITIZERS, *LIBRARIES, f"-I{HERE}", f"-I{sources}"]
    objects = []
    for source, extra in _units(sources):
        objects.append(program.parent / f"{program.name}-{source.parent.name}-{source.stem}.o")
        compiled = [*compiler, *extra, "-c", str(source), "-o", str(objects[-1])]
        subprocess.run(compiled, check=True)
    subprocess.run([*compiler, *map(str, objects), "-o", str(program), *LINKED], check=True)
    return program


def _units(sources: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield what is compiled, and how: the core alone gets the memory that runs out."""
    for source in sorted(HERE.glob("*.c")):
        yield source, []
    for source in sorted(sources.glob("*.c")):
        yield source, ALLOCATORS


def run(
    program: Path, seed: int, seconds: int, seeds: list[Path]
) -> subprocess.CompletedProcess[str]:
    """Let it run; it ends early at the first fault, and soon after its time where it hangs."""
    command = ["timeout", str(2 * seconds + 60), str(program), str(seed), str(seconds)]
    return subprocess.run([*command, *map(str, seeds)], capture_output=True, text=True, check=False)


def is_found(plant: Plant, seed: int, seeds: list[Path]) -> bool:
    """Plant a fault into a copy of the core, and look whether a minute is enough to find it."""
    copied = WORK / "planted"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(SOURCES, copied)
    file = copied / plant.file
    text = file.read_text()
    if text.count(plant.sound) != 1:
        sys.stdout.write(f"{plant.file}: no place for {plant.sound!r}\n")
        return False
    file.write_text(text.replace(plant.sound, plant.faulty))
    done = run(build(copied, WORK / "faulty"), seed, 60, seeds)
    lines = done.stderr.splitlines()
    fault = next((line for line in lines if "ERROR" in line or "error:" in line), "")
    outcome = f"found: {fault[:110]}" if done.returncode else "NOT FOUND"
    sys.stdout.write(f"{plant.file}: {plant.sound!r}: {outcome}\n")
    sys.stdout.flush()
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
