"""Decision records have one shape, so that each can be read, and cited, in the same way."""

import re
from pathlib import Path

import pytest

DECISIONS = sorted((Path(__file__).parents[2] / "docs/decisions").glob("0*.md"))
STATUS = re.compile(r"- Status: (proposed|accepted|rejected|superseded by \d{4})(; .+)?")


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name[:4])
def test_a_decision_has_its_number_its_status_and_its_parts(path: Path) -> None:
    """The title first, then the status on a line, then context, choice and consequences."""
    lines = path.read_text("utf-8").splitlines()
    assert lines[0].startswith(f"# {path.name[:4]}: ")
    assert STATUS.fullmatch(lines[2]), "the third line must be: - Status: accepted"
    headings = [line for line in lines if line.startswith("## ")]
    assert headings[:1] == ["## Context"]
    assert {"## Choice", "## Consequences"} <= set(headings)


def test_a_decision_that_is_cited_is_there() -> None:
    """In a status, by its number; and no two have one number."""
    numbers = [path.name[:4] for path in DECISIONS]
    assert len(numbers) == len(set(numbers)) > 60
    for path in DECISIONS:
        status = path.read_text("utf-8").splitlines()[2]
        assert set(re.findall(r"\b0\d{3}\b", status)) <= set(numbers)
