"""``zkconsumer drain``: lands topics; ``zkconsumer drain verify``: proves a landing."""

import argparse

from zkconsumer.cli import drain_verify
from zkconsumer.cli.commands import add_command
from zkconsumer.drain import command

DESCRIPTION = (
    "Land topics exactly once, then commit the group's offsets. If the command is killed, at any "
    "point, the same command continues where it stopped. Ctrl-C and SIGTERM end it after the "
    "current batch. 'drain verify PATH' proves what was landed."
)
run = command.run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments, and its subcommand."""
    command.add_arguments(parser)
    commands = parser.add_subparsers(title="commands", metavar="verify")
    add_command(commands, "verify", drain_verify, drain_verify.SUMMARY)
