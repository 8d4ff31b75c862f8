"""``zkconsumer offsets``: exports, imports, sets and migrates committed offsets."""

from zkconsumer.cli.commands import Subparsers
from zkconsumer.cli.offsets import export, import_, migrate, set_, update

_DESCRIPTION = """\
Save, restore and set what consumer groups have committed, in ZooKeeper and in Kafka. Whatever
writes looks for living members first, says partition by partition what it would do (--dry-run),
writes a file that undoes it before anything else, and reads back what it wrote."""


def add_parser(subparsers: Subparsers) -> None:
    """Add the ``offsets`` command; ``run`` is set as the ``run`` default of its commands."""
    offsets = subparsers.add_parser(
        "offsets",
        description=_DESCRIPTION,
    )
    commands = offsets.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in (export, import_, set_, update, migrate):
        module.add_parser(commands)
