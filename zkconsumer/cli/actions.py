"""The action of a command with several, by its name or by the flag of the original's tool."""

import argparse
from collections.abc import Sequence


def add_action(parser: argparse.ArgumentParser, actions: Sequence[str], *, what: str) -> None:
    """Add ``ACTION``, as ``action``, None where none is given; ``what`` it is, for the help."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=actions,
        metavar="ACTION",
        help=f"{what}: {', '.join(actions)} (default: list)",
    )


def add_action_flags(parser: argparse.ArgumentParser, actions: Sequence[str]) -> None:
    """Add the flags that the original has for these, as ``flag``; of them only one can be given."""
    flags = parser.add_mutually_exclusive_group()
    for name in actions:
        flags.add_argument(
            f"--{name}",
            dest="flag",
            action="store_const",
            const=name,
            help=f"the same as the action {name}",
        )
