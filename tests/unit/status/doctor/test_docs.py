"""The page about findings knows all of them, and no others."""

import re

from tests.support.sick_world import PAGE, told_severities
from zkconsumer.status.doctor.diagnosis import Code


def test_every_code_has_its_line() -> None:
    """Exactly one, in a table."""
    reported = re.findall(r"^\| `([a-z-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert sorted(reported) == sorted(code.value for code in Code)
    assert told_severities(PAGE).keys() == set(Code)
