"""``zkconsumer groups``: list, describe and watch consumer groups; delete them, if asked."""

from zkconsumer.cli.groups.command import add_parser

__all__ = ["add_parser"]
