"""Ends a command with status 2 on a ``ConfigError``: nothing was done."""

import argparse
import logging
import sys
from collections.abc import Callable
from functools import wraps

from zkconsumer.errors import ConfigError
from zkconsumer.printable import printable

log = logging.getLogger(__name__)

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
            log.debug("the error came from here", exc_info=error)
            print(f"zkconsumer: {printable(' '.join(str(error).split()))}", file=sys.stderr)
            return REFUSED

    return describe
