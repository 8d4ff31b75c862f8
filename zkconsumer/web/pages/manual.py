"""Pages of the documentation, from their Markdown: headings, paragraphs, lists, tables, code. Pure.

A finding's link leads to the copy in the package, so it works without the internet.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final, NamedTuple

from zkconsumer.web.pages.view import View

_INLINE: Final = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*]+)\*|\[([^\]]+)\]\([^)]*\)")
_KINDS: Final = ("code", "strong", "em", "text")
_HEADING: Final = re.compile(r"(#+) (.*)")
_RULE: Final = re.compile(r"\|[-|: ]+\|")


class ManualText(NamedTuple):
    """A part of a text: ``text``, ``code``, ``strong`` or ``em``."""

    kind: str
    text: str


Text = tuple[ManualText, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualBlock:
    """A block of a page.

    Attributes:
        kind: ``heading``, ``paragraph``, ``list``, ``table`` or ``code``.
        level: of a heading, from 1.
        texts: of a heading, a paragraph, or the items of a list.
        rows: of a table, its head first; each with its anchor, "" for none.
        code: of a code block.
    """

    kind: str
    level: int = 0
    texts: tuple[Text, ...] = ()
    rows: tuple[tuple[str, tuple[Text, ...]], ...] = ()
    code: str = ""


def manual_page(markdown: str) -> View:
    """Return a page of the documentation."""
    blocks = list(blocks_of(markdown))
    heading = next((block for block in blocks if block.kind == "heading"), None)
    title = "" if heading is None else "".join(piece.text for piece in heading.texts[0])
    return View(
        template="manual.html",
        title=title,
        context={"blocks": [block for block in blocks if block is not heading]},
        live=False,
    )


def blocks_of(markdown: str) -> Iterator[ManualBlock]:
    """Yield the blocks of a text."""
    for place, part in enumerate(re.split(r"^```.*\n", markdown, flags=re.MULTILINE)):
        if place % 2:
            yield ManualBlock(kind="code", code=part)
            continue
        for filled, lines in groupby(part.splitlines(), key=lambda line: bool(line.strip())):
            if filled:
                yield from _blocks(list(lines))


def _blocks(lines: list[str]) -> Iterator[ManualBlock]:
    while lines and (heading := _HEADING.match(lines[0])):
        yield ManualBlock(kind="heading", level=len(heading[1]), texts=(_text(heading[2]),))
        lines = lines[1:]
    if not lines:
        return
    if lines[0].startswith("|"):
        yield ManualBlock(kind="table", rows=tuple(map(_row, filter(_is_row, lines))))
    elif lines[0].startswith("- "):
        items = re.split(r"^- ", "\n".join(lines), flags=re.MULTILINE)[1:]
        yield ManualBlock(kind="list", texts=tuple(_text(" ".join(item.split())) for item in items))
    else:
        yield ManualBlock(kind="paragraph", texts=(_text(" ".join(lines)),))


def _is_row(line: str) -> bool:
    return _RULE.fullmatch(line) is None


def _row(line: str) -> tuple[str, tuple[Text, ...]]:
    """Return a row's anchor (the code that it begins with, if any) and its cells."""
    cells = tuple(_text(cell.strip()) for cell in line.strip("|").split("|"))
    first = cells[0][0] if cells[0] else ManualText("text", "")
    return (first.text if first.kind == "code" else ""), cells


def _text(line: str) -> Text:
    pieces, end = [], 0
    for found in _INLINE.finditer(line):
        pieces.append(ManualText("text", line[end : found.start()]))
        pieces += [
            ManualText(kind, text)
            for kind, text in zip(_KINDS, found.groups(), strict=True)
            if text is not None
        ]
        end = found.end()
    pieces.append(ManualText("text", line[end:]))
    return tuple(piece for piece in pieces if piece.text)
