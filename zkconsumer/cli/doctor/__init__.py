"""``zkconsumer doctor``: diagnoses a cluster and its groups, and offers repairs."""

from zkconsumer.cli.doctor.command import add_parser

__all__ = ["add_parser"]
