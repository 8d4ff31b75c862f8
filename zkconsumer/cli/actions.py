"""Selects one of a command's actions, by name or by the flag of the original's tool."""

import argparse
from collections.abc import Sequence

from zkconsumer.errors import ConfigError


def add_action(parser: argparse.ArgumentParser, actions: Sequence[str]) -> None:
    """Add the argument ``ACTION``, as ``action``, None by default."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=actions,
        metavar="ACTION",
        help=f"what to do: {', '.join(actions)} (default: list)",
    )


def add_action_flags(parser: argparse.ArgumentParser, actions: Sequence[str]) -> None:
    """Add the original's flags of the actions, as ``flag``; only one can be given."""
    flags = parser.add_mutually_exclusive_group()
    for name in actions:
        flags.add_argument(
            f"--{name}",
            dest="flag",
            action="store_const",
            const=name,
            help=f"the same as the action {name}",
        )


def chosen_action(args: argparse.Namespace) -> str | None:
    """Return the chosen action; None if none is given.

    Raises:
        ConfigError: the name and the flag contradict each other.
    """
    if args.action and args.flag and args.action != args.flag:
        raise ConfigError(f"{args.action} and --{args.flag} are two actions: give only one")
    action: str | None = args.action or args.flag
    return action
