"""``--group`` of every command: of some it can be given again, of the others only once.

A second ``--group`` that takes the place of the first without a word would show half of what was
asked for, or do to one group what was meant for another.
"""

import argparse
from collections.abc import Sequence
from typing import Any


class _Each(argparse.Action):
    """Gathers every value; a default (of the configuration file, say) counts where there is none.

    Not argparse's ``append``, which adds to the default.
    """

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        del parser, option_string
        before = getattr(namespace, self.dest, None)
        known = before if isinstance(before, list) and before is not self.default else []
        setattr(
            namespace, self.dest, [*known, *(value for value in values or () if value not in known)]
        )


class _Once(argparse.Action):
    """Takes one value, and refuses another one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest, None)
        if before not in (None, self.default, values):
            parser.error(f"{option_string} is given twice, {before} and {values}: give it once")
        setattr(namespace, self.dest, values)


def _listed(text: str) -> list[str]:
    return [text]


def add_groups_argument(parser: argparse.ArgumentParser, about: str) -> None:
    """Add a ``--group`` that can be given again; ``args.group`` is a list, empty for all."""
    parser.add_argument(
        "--group",
        action=_Each,
        type=_listed,
        default=[],
        metavar="GROUP",
        help=f"{about}; may be repeated (default: all)",
    )


def add_group_argument(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup",
    about: str,
    *,
    required: bool = False,
) -> None:
    """Add a ``--group`` that is given once; ``args.group`` may be None."""
    parser.add_argument("--group", action=_Once, metavar="GROUP", required=required, help=about)
