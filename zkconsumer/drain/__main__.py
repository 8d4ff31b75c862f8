"""Runs a drain: ``python -m zkconsumer.drain ...``, or this file under ``spark-submit``."""

import argparse
import sys

from zkconsumer.drain.command import add_arguments, run
from zkconsumer.errors import ZkConsumerError
from zkconsumer.given_once import refuse_repeats


def main() -> int:
    """Run a drain; return the exit status: 0, or 1 after an error; wrong usage exits with 2."""
    parser = argparse.ArgumentParser(
        prog="zkconsumer.drain",
        description="Lands whole topics of a Kafka cluster of the ZooKeeper era, exactly once.",
        allow_abbrev=False,
    )
    refuse_repeats(parser)
    add_arguments(parser)
    try:
        return run(parser.parse_args())
    except ZkConsumerError as error:
        sys.stderr.write(f"zkconsumer.drain: {' '.join(str(error).split())}\n")
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
