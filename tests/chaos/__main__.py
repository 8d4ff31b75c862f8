"""``python -m tests.chaos``: inflict faults for ten minutes, then check all deliveries.

The exit status is 0 if every promise was kept; 1 if one was broken, or if a wait timed out.
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
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Run, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long faults go on")
    parser.add_argument("--seed", type=int, help="repeats the faults of another run")
    parser.add_argument("--rate", type=int, default=300, help="messages per second")
    parser.add_argument(
        "--tls", action="store_true", help="our members connect to brokers over TLS (Kafka 0.9.0.1)"
    )
    parser.add_argument("--keep", type=Path, help="a new folder for all files, to be kept")
    options = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    folder = options.keep or Path(tempfile.mkdtemp(prefix="zkconsumer-chaos-"))
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that all processes are ended
    write(f"chaos with seed {seed} in {folder}")
    good = False
    try:
        outcome = run(
            folder,
            seed=seed,
            minutes=options.minutes,
            rate=options.rate,
            write=write,
            over_tls=options.tls,
        )
        good = outcome.result.good
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
