"""The migration page for users of kafka-python lists all decided differences."""

from pathlib import Path

from tests.alike.differences import table

PAGE = Path(__file__).parents[2] / "docs" / "migrating-from-kafka-python.md"


def test_the_page_has_the_table_of_decisions() -> None:
    """The page contains the table that ``python -m tests.alike.differences`` prints."""
    assert f"\n\n{table()}\n" in PAGE.read_text("utf-8")
