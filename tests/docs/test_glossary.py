"""docs/glossary.md names classes and modules that are there."""

import pkgutil
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs/glossary.md").read_text("utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| word")
]


def resolves(name: str) -> bool:
    """Whether a file, a module or a part of one has this name, below the package."""
    if "/" in name:
        return (ROOT / "zkconsumer" / name).exists()
    try:
        pkgutil.resolve_name(f"zkconsumer.{name}")
    except (ImportError, AttributeError):
        # Fields without defaults are no attributes of their classes.
        owner, _, field = name.rpartition(".")
        try:
            return field in pkgutil.resolve_name(f"zkconsumer.{owner}").__annotations__
        except (ImportError, AttributeError, ValueError):
            return False
    return True


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_row_says_where_its_word_is(row: list[str]) -> None:
    """Names after ``package:`` are relative to that package."""
    _, _, where = row
    package = re.match(r"`([\w.]+)`: ", where)
    names = re.findall(r"`([^`]+)`", where)
    assert names
    prefix = f"{package[1]}." if package else ""
    assert [
        name for name in names if not (resolves(name) or (prefix and resolves(prefix + name)))
    ] == []


def test_a_word_has_one_row() -> None:
    """Each concept once."""
    words = [word for row in ROWS for word in row[0].split(", ")]
    assert sorted(words) == sorted(set(words))
