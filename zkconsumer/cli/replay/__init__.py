"""``zkconsumer replay``: prints a range of a topic again, beside all groups."""

from zkconsumer.cli.replay.command import add_parser

__all__ = ["add_parser"]
