"""``python -m tests.chaos``: faults for ten minutes, then the count; the exit status says it all.

0: every promise was kept. 1: one was broken, or something did not come that was waited for.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.report import summary
from tests.chaos.run import run
from zkconsumer.errors import ZkConsumerError


def write(line: str) -> None:
    """Print at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run; gives the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long faults go on")
    parser.add_argument("--seed", type=int, help="repeats the faults of another run")
    parser.add_argument("--rate", type=int, default=300, help="messages per second")
    parser.add_argument("--keep", type=Path, help="a new folder for all files, to be kept")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    folder = options.keep or Path(tempfile.mkdtemp(prefix="zkconsumer-chaos-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends all processes, too
    write(f"chaos with seed {seed} in {folder}")
    good = False
    try:
        outcome = run(folder, seed=seed, minutes=options.minutes, rate=options.rate, write=write)
        good = outcome.verdict.good
        write(f"\n{summary(outcome)}")
    except (AssertionError, ZkConsumerError) as error:
        write(f"\nchaos with seed {seed} FAILED: {error}")
    except KeyboardInterrupt:
        write("stopped")
    finally:
        if good and options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
        elif not good:
            write(f"all files are kept in {folder}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
