"""Stresses and times the native core in threads, on an interpreter that may have no GIL.

    python -m tests.free_threaded --seconds 20 --threads 4
    python -m tests.free_threaded --scale          how much more n streams in n threads read

It needs the package and its core alone. With ``--no-gil`` an interpreter with a GIL is an error.
"""

import argparse
import statistics
import sys
import threading
import time

from tests.free_threaded.scenes import SCENES
from tests.support.native_chunks import cursor, native_queue, set_of
from zkconsumer.fetch.claim import PartitionClaim
from zkconsumer.model import TopicPartition

SETS = 60
RECORDS = 5_000


def main() -> int:
    """Do what the command line asks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=20, help="of each scene")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--no-gil", action="store_true", help="insist on it")
    options = parser.parse_args()
    if options.no_gil and has_gil():
        sys.stderr.write("this interpreter has its GIL: something imported asked for it\n")
        return 1
    if options.scale:
        for threads in sorted({1, 2, options.threads}):
            rates = [rate(threads) for _ in range(5)]
            by_clock, by_cpu = (statistics.median(some) / 1e6 for some in zip(*rates, strict=True))
            sys.stdout.write(
                f"{threads} streams: {by_clock:.2f} M messages/s, {by_cpu:.2f} M per CPU second\n"
            )
        return 0
    for name, scene in SCENES.items():
        sys.stdout.write(f"{name}: {scene(options.seconds, options.threads)}\n")
        sys.stdout.flush()
    return 0


def has_gil() -> bool:
    """Whether threads take turns; it comes back where a module that needs it is imported."""
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def rate(threads: int) -> tuple[float, float]:
    """How many messages threads draw, each from a hand of its own: a second, and a CPU second.

    The latter does not care what else the machine does: where it falls with more threads, they are
    in each other's way.
    """
    data = set_of(range(RECORDS))
    starts: list[float] = []
    # The last thread to arrive reads the clock: a main thread that waits for a core would be late.
    begin = threading.Barrier(threads, lambda: starts.append(time.monotonic()))  # noqa: TID251

    def draw() -> None:
        queue = native_queue()
        claim = PartitionClaim(TopicPartition("t", 0), queue, None)
        queue.native.adopt(claim)
        for _ in range(SETS):
            assert queue.native.put_set(claim, data, 0) is None
        one, count = cursor(), 0
        begin.wait()
        start_cpu = time.thread_time()
        while (chunk := queue.head(0)) is not None:
            queue.remove()
            one.chunk = chunk
            for message in one:
                count += len(message.value or b"")
        taken.append(time.thread_time() - start_cpu)

    taken: list[float] = []
    bodies = [threading.Thread(target=draw) for _ in range(threads)]  # noqa: TID251
    for body in bodies:
        body.start()
    for body in bodies:
        body.join()
    total = threads * SETS * RECORDS
    return total / (time.monotonic() - starts[0]), total / sum(taken)  # noqa: TID251


if __name__ == "__main__":
    sys.exit(main())
