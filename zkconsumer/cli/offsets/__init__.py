"""``zkconsumer offsets``: exports, imports, sets and migrates committed offsets."""

import argparse

from zkconsumer.cli.commands import add_command
from zkconsumer.cli.offsets import export, import_, migrate, set_, update

DESCRIPTION = """\
Save, restore and set what consumer groups have committed, in ZooKeeper and in Kafka. Whatever
writes looks for living members first, says partition by partition what it would do (--dry-run),
writes a file that undoes it before anything else, and reads back what it wrote."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (export, import_, set_, update, migrate):
        add_command(commands, module.__name__.rpartition(".")[2].rstrip("_"), module)
