"""The page about findings knows all of them, and no others."""

import re
from pathlib import Path

from zkconsumer.status.doctor.finding import Code

PAGE = Path(__file__).parents[4] / "docs" / "doctor.md"


def test_every_code_has_its_line() -> None:
    """Exactly one, in a table."""
    told = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(told) == sorted(one.value for one in Code)
