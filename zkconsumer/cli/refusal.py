"""Ends a command with status 2 on a ``ConfigError``: nothing was done."""

import argparse
from collections.abc import Callable
from functools import wraps

from zkconsumer.cli.output import report_error
from zkconsumer.errors import ConfigError

REFUSED = 2

Run = Callable[[argparse.Namespace], int]


def refusing(run: Run) -> Run:
    """Wrap a command so that a ``ConfigError`` is printed in one line and ends it with 2.

    It must raise one only before it has changed anything.
    """

    @wraps(run)
    def describe(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except ConfigError as error:
            report_error(error)
            return REFUSED

    return describe
