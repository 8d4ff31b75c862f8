"""The page about findings lists each code, and no other."""

import re

from tests.support.diagnosed_cluster import PAGE, documented_severities
from zkconsumer.status.doctor.diagnosis import Code


def test_every_code_has_a_row() -> None:
    """Each code has exactly one row in a table of the page."""
    reported = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(reported) == sorted(code.value for code in Code)
    assert documented_severities(PAGE).keys() == set(Code)
