"""``zkconsumer offsets``: exports, imports, sets and migrates committed offsets."""

import argparse

from zkconsumer.cli.commands import add_command
from zkconsumer.cli.offsets import export, import_, migrate, set_, update

DESCRIPTION = """\
Save, restore and set the committed offsets of consumer groups, in ZooKeeper and in Kafka. Every
writing command checks for live members first, shows its plan for each partition (--dry-run), writes
a file that undoes it before anything else, and reads back what it wrote."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (export, import_, set_, update, migrate):
        name = module.__name__.rpartition(".")[2].rstrip("_")
        add_command(commands, name, module, module.SUMMARY)
