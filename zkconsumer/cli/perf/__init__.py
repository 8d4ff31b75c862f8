"""``zkconsumer perf``: how fast topics can be read (the original's ``ConsumerPerformance``)."""

from zkconsumer.cli.perf.command import add_parser

__all__ = ["add_parser"]
