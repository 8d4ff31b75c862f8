"""The page for those who come from kafka-python tells all that is different by decision."""

from pathlib import Path

from tests.alike.differences import table

PAGE = Path(__file__).parents[2] / "docs" / "migrating-from-kafka-python.md"


def test_the_page_has_the_table_of_decisions() -> None:
    """As ``python -m tests.alike.differences`` prints it."""
    assert f"\n\n{table()}\n" in PAGE.read_text("utf-8")
