"""``zkconsumer doctor``: what is wrong with a cluster and its groups, and what helps."""

from zkconsumer.cli.doctor.command import add_parser

__all__ = ["add_parser"]
