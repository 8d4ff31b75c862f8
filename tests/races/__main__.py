"""Has threads share buffers of the native core under the thread and the address sanitizer.

python -m tests.races                   a race, a leak or a use after free ends it
python -m tests.races --plants          breaks what keeps threads apart: all to be found
"""

import argparse
import shutil
import subprocess
import sys
from itertools import product
from pathlib import Path

from tests.fuzz.__main__ import LIBRARIES, LINKED, ROOT, SOURCES, Plant, write_seeds

HERE = Path(__file__).parent
WORK = ROOT / ".fuzz" / "races"
FLAGS = ["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread"]
SANITIZERS = ("thread", "address,undefined")
PROGRAMS = ("races.c", "queue.c", "polled.c")

PLANTS = (
    Plant(
        "buffer.c",
        "atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);",
        "++*(size_t *)(void *)&buffer->references;",
    ),
    Plant("buffer.c", "memory_order_acq_rel", "memory_order_relaxed"),
    Plant("claim.c", "memory_order_acq_rel", "memory_order_relaxed"),
    Plant("queue_inside.h", "    pthread_mutex_lock(&queue->mutex);\n", ""),
    Plant(
        "queue.c", "queue->wakeups[queue->wakeup_count++]", "queue->wakeups[queue->wakeup_count]"
    ),
    Plant(
        "buffer.c",
        "found = atomic_exchange(&spares[slot], NULL);\n        if (!found)",
        "found = *(zk_buffer **)(void *)&spares[slot];\n"
        "        atomic_store(&spares[slot], NULL);\n        if (!found)",
    ),
)


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=2_000)
    parser.add_argument("--plants", action="store_true", help="check that faults are found")
    options = parser.parse_args()
    seeds = write_seeds(WORK / "seeds")
    if options.plants:
        missed = [plant for plant in PLANTS if not is_found(plant, options.rounds, seeds)]
        return len(missed)
    for program, sanitizer in product(PROGRAMS, SANITIZERS):
        done = run(SOURCES, program, sanitizer, options.rounds, seeds)
        sys.stdout.write(f"{program}: {sanitizer}: {done.stdout}{done.stderr}")
        if done.returncode:
            return 1
    return 0


def run(
    sources: Path, program: str, sanitizer: str, rounds: int, seeds: list[Path]
) -> subprocess.CompletedProcess[str]:
    """Compile with a sanitizer, and let it run."""
    built = WORK / program.removesuffix(".c")
    files = [HERE / program, *sorted(sources.glob("*.c"))]
    command = [
        "gcc",
        *FLAGS,
        *LIBRARIES,
        f"-fsanitize={sanitizer}",
        f"-I{sources}",
        *map(str, files),
    ]
    subprocess.run([*command, "-o", str(built), *LINKED], check=True)
    words = [str(built), str(rounds), *map(str, seeds)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def is_found(plant: Plant, rounds: int, seeds: list[Path]) -> bool:
    """Plant a fault into a copy of the core, and look whether either sanitizer finds it."""
    copied = WORK / "planted"
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(SOURCES, copied)
    file = copied / plant.file
    text = file.read_text()
    if text.count(plant.sound) != 1:
        sys.stdout.write(f"{plant.file}: no place for {plant.sound!r}\n")
        return False
    file.write_text(text.replace(plant.sound, plant.faulty))
    tries = product(PROGRAMS, SANITIZERS)
    found = any(run(copied, *attempt, rounds, seeds).returncode for attempt in tries)
    sys.stdout.write(f"{plant.file}: {plant.sound!r}: {'found' if found else 'NOT FOUND'}\n")
    return found


if __name__ == "__main__":
    sys.exit(main())
