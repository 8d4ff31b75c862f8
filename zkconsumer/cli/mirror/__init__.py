"""``zkconsumer mirror``: copy topics to another cluster; ``mirror verify``: prove it."""

from zkconsumer.cli.mirror.command import add_parser

__all__ = ["add_parser"]
