"""``zkconsumer drain``: land topics for good; ``zkconsumer drain verify``: prove it."""

import argparse

from zkconsumer.cli import drain_verify
from zkconsumer.drain import command


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the ``drain`` command; ``run`` is set as its ``run`` default."""
    parser = subparsers.add_parser(
        "drain",
        description="Lands topics exactly once, then commits the group's offsets. It may be "
        "killed at any point: the same command goes on where it was. Ctrl-C and SIGTERM end it "
        "behind the batch in hand. 'drain verify PATH' proves what was landed.",
    )
    command.add_arguments(parser)
    parser.set_defaults(run=command.run)
    commands = parser.add_subparsers(title="commands", metavar="verify")
    drain_verify.add_parser(commands)
