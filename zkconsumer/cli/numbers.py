"""Numbers of the command line. Pure."""

import argparse
from collections.abc import Callable


def whole_number(
    complaint: str = "is not a number from 1 on", *, least: int = 1, digits: int = 9
) -> Callable[[str], int]:
    """Return what parses a whole number, for ``type=`` of an argument.

    Args:
        complaint: the end of the error message for an invalid text.
        least: the least that it may be: 1 or 0.
        digits: how many it may have at most.
    """

    def parse(text: str) -> int:
        is_number = text.isascii() and text.isdigit() and len(text) <= digits
        if not is_number or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} {complaint}")
        return int(text)

    return parse
