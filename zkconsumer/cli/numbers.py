"""Parses numbers of the command line. Pure."""

import argparse
from collections.abc import Callable

from zkconsumer.digits import is_decimal


def whole_number(
    complaint: str = "is not a number of at least 1", *, least: int = 1, digits: int = 9
) -> Callable[[str], int]:
    """Return a parser of whole numbers, for ``type=`` of an argument.

    Args:
        complaint: the end of the error message for an invalid text.
        least: the minimum, 0 or 1.
        digits: the maximum number of digits.
    """

    def parse(text: str) -> int:
        if not is_decimal(text, digits) or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r} {complaint}")
        return int(text)

    return parse


def partition_numbers(text: str) -> list[int]:
    """Parse partition numbers separated by commas, for ``type=`` of an argument."""
    parts = text.split(",")
    if not all(is_decimal(part, 9) for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a list of partition numbers, such as 0,1,2"
        )
    return list(map(int, parts))


def offset_number(text: str) -> int:
    """Parse an offset, for ``type=`` of an argument."""
    if not (is_decimal(text, 19) and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"{text!r} is not an offset")
    return int(text)
