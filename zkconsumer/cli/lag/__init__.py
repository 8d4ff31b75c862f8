"""``zkconsumer lag``: how far groups are behind, in records and in seconds."""

from zkconsumer.cli.lag.command import add_parser

__all__ = ["add_parser"]
