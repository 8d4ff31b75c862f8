"""Formats tables for people and JSON for programs.

Names are never truncated. Colour is for terminals only, and never the only sign of a state.
"""

import argparse
import itertools
import json
import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, TextIO, TypeAlias

from zkconsumer.printable import printable


class Colour(StrEnum):
    """The meaning of a cell's colour; the values are terminal codes."""

    BAD = "31"
    WARN = "33"
    GOOD = "32"
    DIM = "2"
    BOLD = "1"


class Painted(NamedTuple):
    """A cell with a colour."""

    text: str
    colour: Colour | None


class TableColumn(NamedTuple):
    """A column: its title, and whether it holds numbers, which are right-aligned."""

    title: str
    right: bool = False


Cell: TypeAlias = str | int | Painted | None
"""The content of a cell; None: unknown, shown as ``-``."""

_UNKNOWN = "-"
_GAP = "  "
_LEAST_WIDTH = 10
"""The minimum width of a wrapped column; if that is too wide, each row becomes a list."""


def table(
    titles: Iterable[str],
    rows: Iterable[Sequence[Cell]],
    *,
    coloured: bool | None = None,
    limit: int | None = None,
) -> str:
    """Return the lines of a table, with titles and line ends.

    In a table that is too wide, texts are wrapped; if that is not enough, each row becomes a list
    of its cells. Nothing is truncated.

    Args:
        titles: the titles of the columns; those of numbers begin with ``>``.
        rows: the rows, each with a cell for every column.
        coloured: whether to use colours; None: see ``shows_colour``.
        limit: the maximum width; None: that of the terminal, without limit on other outputs.
    """
    columns = [TableColumn(title.lstrip(">"), right=title[0] == ">") for title in titles]
    coloured = shows_colour() if coloured is None else coloured
    cells = [list(row) for row in rows]
    head = [column.title for column in columns]
    texts = [head, *([_text(cell) for cell in row] for row in cells)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    limit = terminal_width() if limit is None else limit
    if limit is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > limit:
        colours = [[_colour(cell) if coloured else None for cell in row] for row in cells]
        return _narrow(columns, widths, texts, colours, limit)
    if coloured:
        painted: list[list[Colour | None]] = [[Colour.BOLD for _ in head]]
        painted += [[_colour(cell) for cell in row] for row in cells]
        lines = [
            _line(columns, widths, row, of_row) for row, of_row in zip(texts, painted, strict=True)
        ]
    else:
        # Tables may have half a million rows.
        aligned = zip(columns, widths, strict=True)
        form = _GAP.join(f"{{:{'>' if column.right else '<'}{width}}}" for column, width in aligned)
        lines = [
            form.format(*row) if "".join(row).isascii() else _line(columns, widths, row, None)
            for row in texts
        ]
    return "".join(line.rstrip() + "\n" for line in lines)


def sentence(text: str) -> str:
    """Return a sentence with its line end; on a terminal it is wrapped, without breaking names."""
    width = terminal_width()
    if width is None or len(text) <= width:
        return f"{text}\n"
    indent = text[: len(text) - len(text.lstrip(" "))]
    lines = textwrap.wrap(
        text,
        width,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "".join(f"{line}\n" for line in lines)


def terminal_width() -> int | None:
    """Return the width of the terminal, or ``COLUMNS``; None if standard output is no terminal."""
    if sys.stdout is None or not sys.stdout.isatty():
        return None
    return shutil.get_terminal_size().columns


def _narrow(
    columns: Sequence[TableColumn],
    widths: Sequence[int],
    texts: Sequence[Sequence[str]],
    colours: Sequence[Sequence[Colour | None]],
    limit: int,
) -> str:
    """Return a table whose texts are wrapped to fit the limit, or its rows as lists."""
    fitted = _fitted(columns, widths, limit)
    if fitted is None:
        return _listed(texts, colours, limit)
    lines = []
    for number, row in enumerate(texts):
        of_row = colours[number - 1] if number else None
        pieces = [_wrapped(text, width) for text, width in zip(row, fitted, strict=True)]
        lines += [
            _line(columns, fitted, parts, of_row).rstrip() + "\n"
            for parts in itertools.zip_longest(*pieces, fillvalue="")
        ]
    return "".join(lines)


def _fitted(columns: Sequence[TableColumn], widths: Sequence[int], limit: int) -> list[int] | None:
    """Return widths within the limit, by narrowing the widest texts; None if there are none."""
    fitted = list(widths)
    spare = limit - sum(widths) - len(_GAP) * (len(widths) - 1)
    texts = [index for index, column in enumerate(columns) if not column.right]
    while spare < 0:
        widest = max(texts, key=lambda index: fitted[index], default=None)
        if widest is None or fitted[widest] <= max(_LEAST_WIDTH, len(columns[widest].title)):
            return None
        fitted[widest] -= 1
        spare += 1
    return fitted


def _listed(
    texts: Sequence[Sequence[str]], colours: Sequence[Sequence[Colour | None]], limit: int
) -> str:
    """Return each row as a list of its cells, with long ones wrapped."""
    head, *rows = texts
    width = max(map(len, head))
    free = max(_LEAST_WIDTH, limit - width - len(_GAP))
    return "\n".join(
        "".join(
            f"{'' if number else title:<{width}}{_GAP}{paint(part, colour, coloured=True)}".rstrip()
            + "\n"
            for title, text, colour in zip(head, row, of_row, strict=True)
            for number, part in enumerate(_wrapped(text, free))
        )
        for row, of_row in zip(rows, colours, strict=True)
    )


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text; break words only if they are longer than a line."""
    return textwrap.wrap(text, width, break_on_hyphens=False) or [""]


def _line(
    columns: Sequence[TableColumn],
    widths: Sequence[int],
    texts: Sequence[str],
    colours: Sequence[Colour | None] | None,
) -> str:
    cells = []
    for index, text in enumerate(texts):
        fill = " " * (widths[index] - _width(text))
        shown = text if colours is None else paint(text, colours[index], coloured=True)
        cells.append(fill + shown if columns[index].right else shown + fill)
    return _GAP.join(cells)


def paint(text: str, colour: Colour | None, *, coloured: bool) -> str:
    """Return a coloured text, escaped for a terminal."""
    safe = printable(text)
    return f"\x1b[{colour}m{safe}\x1b[0m" if coloured and colour and safe else safe


def shows_colour(stream: TextIO | None = None) -> bool:
    """Return whether to colour the output to a stream (None: standard output).

    It is only on a terminal, and without NO_COLOR: https://no-color.org.
    """
    out = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return out is not None and out.isatty()


def json_text(value: object) -> str:
    """Return a printed JSON object with its line end; offsets are numbers, unknown is null."""
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


def instant(at_ms: int | None) -> str | None:
    """Return an instant for JSON: ISO 8601 in UTC with milliseconds; None stays None.

    Times outside the years 1 to 9999 are None, too: some clocks are that wrong.
    """
    if at_ms is None:
        return None
    try:
        at = datetime.fromtimestamp(at_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{at.replace(tzinfo=None).isoformat()}.{at_ms % 1000:03d}Z"


def add_format_arguments(parser: argparse.ArgumentParser, *, scala: str | None = None) -> None:
    """Add ``--format`` and its short form ``--json``; the choice is ``args.format``.

    Args:
        parser: the parser of the command.
        scala: the original whose output ``scala`` matches to the byte; None: no such format.
    """
    formats = ["table", "json", *(["scala"] if scala else [])]
    reported = f"; scala is byte for byte the output of {scala}" if scala else ""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--format",
        choices=formats,
        default="table",
        help=f"the output format: {', '.join(formats)}{reported} (default: table)",
    )
    group.add_argument(
        "--json", dest="format", action="store_const", const="json", help="short for --format json"
    )


def _text(cell: Cell) -> str:
    if isinstance(cell, str):
        return printable(cell)
    if cell is None:
        return _UNKNOWN
    return printable(cell.text) if isinstance(cell, Painted) else str(cell)


def _colour(cell: Cell) -> Colour | None:
    if isinstance(cell, Painted):
        return cell.colour
    return Colour.DIM if cell is None else None


def _width(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
