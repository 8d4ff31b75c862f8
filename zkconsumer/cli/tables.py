"""Formats tables for people and JSON for programs.

A name is never truncated: a piped table has all of it. Colour is for terminals only, and never the
only sign of anything.
"""

import argparse
import json
import os
import sys
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


def table(columns: Sequence[TableColumn], rows: Iterable[Sequence[Cell]], *, coloured: bool) -> str:
    """Return the lines of a table, with titles and line ends.

    Args:
        columns: the columns.
        rows: each with a cell for every column.
        coloured: whether to colour; see ``shows_colour``.
    """
    cells = [list(row) for row in rows]
    head = [column.title for column in columns]
    texts = [head, *([_text(cell) for cell in row] for row in cells)]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    if coloured:
        colours: list[list[Colour | None]] = [[Colour.BOLD for _ in head]]
        colours += [[_colour(cell) for cell in row] for row in cells]
        lines = [
            _line(columns, widths, row, of_row) for row, of_row in zip(texts, colours, strict=True)
        ]
    else:
        # Half a million partitions are a table, too.
        aligned = zip(columns, widths, strict=True)
        form = _GAP.join(f"{{:{'>' if column.right else '<'}{width}}}" for column, width in aligned)
        lines = [
            form.format(*row) if "".join(row).isascii() else _line(columns, widths, row, None)
            for row in texts
        ]
    return "".join(line.rstrip() + "\n" for line in lines)


def _line(
    columns: Sequence[TableColumn],
    widths: Sequence[int],
    texts: Sequence[str],
    colours: Sequence[Colour | None] | None,
) -> str:
    cells = []
    for place, text in enumerate(texts):
        fill = " " * (widths[place] - _width(text))
        shown = text if colours is None else paint(text, colours[place], coloured=True)
        cells.append(fill + shown if columns[place].right else shown + fill)
    return _GAP.join(cells)


def paint(text: str, colour: Colour | None, *, coloured: bool) -> str:
    """Return a coloured text, escaped for a terminal."""
    safe = printable(text)
    return f"\x1b[{colour}m{safe}\x1b[0m" if coloured and colour and safe else safe


def shows_colour(stream: TextIO | None = None) -> bool:
    """Return whether to colour the output to a stream (None: standard output).

    Only on a terminal, and not with NO_COLOR: https://no-color.org.
    """
    out = stream or sys.stdout
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return out is not None and out.isatty()


def counted(number: int, what: str) -> str:
    """Return ``1 member``, ``2 members``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def json_text(value: object) -> str:
    """A JSON object as it is printed, with its line end; offsets are numbers, unknown is null."""
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


def add_format_arguments(
    parser: argparse.ArgumentParser, *, scala: str | None = None, more: Sequence[str] = ()
) -> None:
    """Add ``--format`` and its short form ``--json``; the choice is ``args.format``.

    Args:
        parser: of the command.
        scala: the original whose output ``scala`` matches to the byte; None: no such format.
        more: further formats.
    """
    formats = ["table", "json", *(["scala"] if scala else []), *more]
    reported = f"; scala: to the byte what {scala} prints" if scala else ""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--format",
        choices=formats,
        default="table",
        help=f"how to print it: {', '.join(formats)}{reported} (default: table)",
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
