"""Defines a ``--group`` that can be repeated.

Commands of a single group refuse a second one, as every option is refused twice (``parsing``).
"""

import argparse
from collections.abc import Sequence
from typing import Any


class _Each(argparse.Action):
    """Collects all values; without any, the default (e.g. of the configuration file) is used.

    argparse's ``append`` would add to the default.
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


def _listed(text: str) -> list[str]:
    return [text]


def add_groups_argument(parser: argparse.ArgumentParser, about: str) -> None:
    """Add a repeatable ``--group``; ``args.group`` is a list, empty for all."""
    parser.add_argument(
        "--group",
        action=_Each,
        type=_listed,
        default=[],
        metavar="GROUP",
        help=f"{about}; may be repeated (default: all)",
    )
