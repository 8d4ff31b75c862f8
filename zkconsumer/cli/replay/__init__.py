"""``zkconsumer replay``: prints a range of a topic again, without affecting groups."""

from zkconsumer.cli.replay.command import add_parser

__all__ = ["add_parser"]
