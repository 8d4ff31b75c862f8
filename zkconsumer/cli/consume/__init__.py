"""``zkconsumer consume``: the console consumer."""

from zkconsumer.cli.consume.command import add_parser

__all__ = ["add_parser"]
