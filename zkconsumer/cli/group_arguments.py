"""Defines ``--group`` for all commands: repeatable for some, single for the others.

A second ``--group`` that silently replaced the first would show half of what was requested, or
change the wrong group.
"""

import argparse
from collections.abc import Sequence
from typing import Any

from zkconsumer.cli.cluster_arguments import Container


class _Each(argparse.Action):
    """Collects all values; the default (e.g. of the configuration file) is used if there is none.

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
    """Accepts one value, and refuses a second one."""

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
    """Add a repeatable ``--group``; ``args.group`` is a list, empty for all."""
    parser.add_argument(
        "--group",
        action=_Each,
        type=_listed,
        default=[],
        metavar="GROUP",
        help=f"{about}; may be repeated (default: all)",
    )


def add_group_argument(
    parser: Container,
    about: str,
    *,
    required: bool = False,
) -> None:
    """Add a single ``--group``; ``args.group`` may be None."""
    parser.add_argument("--group", action=_Once, metavar="GROUP", required=required, help=about)
