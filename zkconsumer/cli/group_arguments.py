"""Defines a ``--group`` that can be repeated, and ``--kind``.

Commands of a single group refuse a second one, as every option is refused twice (``parsing``).
"""

import argparse
from collections.abc import Sequence
from typing import Any

from zkconsumer.status.model import GroupKind


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


def add_kind_argument(parser: argparse.ArgumentParser) -> None:
    """Add ``--kind``, for group ids that exist in both places; ``args.kind`` may be None."""
    parser.add_argument(
        "--kind",
        type=GroupKind,
        choices=list(GroupKind),
        metavar="KIND",
        help="the kind of the group, if two groups have this id: zookeeper or coordinator",
    )


def usual_kind(args: argparse.Namespace) -> GroupKind:
    """Return the kind of groups that is given; by default ZooKeeper's, if there is one."""
    if args.kind is not None:
        kind: GroupKind = args.kind
        return kind
    return GroupKind.ZOOKEEPER if args.zookeeper else GroupKind.COORDINATOR
