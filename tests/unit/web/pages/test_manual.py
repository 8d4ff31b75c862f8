"""The documentation in the web interface: each finding links to a section of it."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import zkconsumer.web
from zkconsumer.status.doctor.diagnosis import Code
from zkconsumer.web.pages.manual import ManualBlock, ManualText, blocks_of, manual_page

DOCTOR = Path(zkconsumer.web.__file__).parent / "manual" / "doctor.md"


def test_every_code_has_an_anchor() -> None:
    """Each finding's code has an anchor, so that its link works."""
    blocks = manual_page(DOCTOR.read_text()).context["blocks"]
    assert isinstance(blocks, list)
    anchors = {anchor for block in blocks for anchor, _ in block.rows}
    assert {code.value for code in Code} <= anchors


def test_markdown_is_parsed_into_blocks() -> None:
    """The Markdown that our documentation uses is parsed into blocks."""
    text = "# A *b*\n\none\ntwo `x | y`\n- no item\n\n- an\n  item\n- **c**\n\n```\n| code |\n```\n"
    assert list(blocks_of(text)) == [
        ManualBlock(
            kind="heading", level=1, texts=((ManualText("text", "A "), ManualText("em", "b")),)
        ),
        ManualBlock(
            kind="paragraph",
            texts=(
                (
                    ManualText("text", "one two "),
                    ManualText("code", "x | y"),
                    ManualText("text", " - no item"),
                ),
            ),
        ),
        ManualBlock(
            kind="list", texts=((ManualText("text", "an item"),), (ManualText("strong", "c"),))
        ),
        ManualBlock(kind="code", code="| code |\n"),
    ]
    [table] = blocks_of("| a | b |\n|---|---|\n| `x-y` | [text](other.md) |")
    assert table.rows == (
        ("", ((ManualText("text", "a"),), (ManualText("text", "b"),))),
        ("x-y", ((ManualText("code", "x-y"),), (ManualText("text", "text"),))),
    )


@given(st.text(alphabet="# |`*-[]()ab\n"))
def test_any_text_is_parsed(text: str) -> None:
    """Any text is parsed without an error."""
    for block in blocks_of(text):
        assert block.kind
