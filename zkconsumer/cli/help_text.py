"""Formats the help of commands so that no line is longer than the terminal."""

import argparse
import itertools
import textwrap
from collections.abc import Iterator
from functools import partial
from typing import Final

_LONGEST_LINE: Final = 100
_LEAST_WIDTH: Final = 11
"""The minimum width of argparse."""
_COMMAND: Final = "zkconsumer "
_HANGING: Final = 4
_wrap = partial(textwrap.wrap, break_long_words=False, break_on_hyphens=False)
"""A function that wraps text without breaking words, which may be flags."""


class FittedHelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the lines of descriptions if they fit, and wraps them otherwise.

    argparse wraps only the texts of options; its usages and names of options can be too long.
    """

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """See ``argparse``."""
        lines = super()._fill_text(text, width, indent).splitlines()
        return "\n".join(
            line
            for is_prose, block in itertools.groupby(lines, lambda line: line[:1].strip() != "")
            for line in (_refilled(list(block), width) if is_prose else block)
        )

    def _split_lines(self, text: str, width: int) -> list[str]:
        """See ``argparse``, which would break names of flags."""
        return _wrap(" ".join(text.split()), width)

    def format_help(self) -> str:
        """See ``argparse``."""
        # argparse leaves two columns unused.
        width = max(self._width + 2, _LEAST_WIDTH)
        lines = super().format_help().splitlines()
        return "".join(f"{part}\n" for line in lines for part in _fitted(line, width))


def _refilled(lines: list[str], width: int) -> list[str]:
    """Wrap a paragraph; keep its lines if they fit."""
    if all(len(line) <= width for line in lines):
        return lines
    return _wrap(" ".join(lines), min(width, _LONGEST_LINE))


def _fitted(line: str, width: int) -> Iterator[str]:
    """Yield the parts of a line; a command is split so that it can still be copied."""
    if len(line) <= width:
        yield line
        return
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    is_command = text.startswith(_COMMAND)
    command, _, comment = text.partition("  (") if is_command else (text, "", "")
    width -= 2 if is_command else 0
    free = max(0, width - max(map(len, command.split())))
    parts = _wrap(
        command,
        width,
        initial_indent=indent[:free],
        subsequent_indent=(indent + " " * _HANGING)[:free],
    )
    yield from (f"{part} \\" if is_command else part for part in parts[:-1])
    yield parts[-1]
    if comment:
        yield f"{indent}{' ' * _HANGING}({comment.strip()}"
