"""``zkconsumer drain``: lands topics; ``zkconsumer drain verify``: proves a landing."""

import argparse

from zkconsumer.cli import drain_verify
from zkconsumer.cli.commands import add_command
from zkconsumer.drain import command

DESCRIPTION = (
    "Lands topics exactly once, then commits the group's offsets. It may be killed at any point: "
    "the same command goes on where it was. Ctrl-C and SIGTERM end it behind the batch in hand. "
    "'drain verify PATH' proves what was landed."
)
run = command.run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments, and its subcommand."""
    command.add_arguments(parser)
    commands = parser.add_subparsers(title="commands", metavar="verify")
    add_command(commands, "verify", drain_verify)
