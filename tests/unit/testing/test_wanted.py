"""A module that ``-m`` can't want is told by its text; every other one is loaded."""

import pytest

from tests.support.wanted import can_be_wanted

SERVED = "import pytest\n\npytestmark = pytest.mark.sandbox\n"
LISTED = "pytestmark = [\n    pytest.mark.sandbox,\n    pytest.mark.timeout(600),\n]\n"
SOME = "@pytest.mark.sandbox\n@pytest.mark.alone\ndef test_one() -> None: ...\n"
ENGINES = 'pytestmark = pytest.mark.usefixtures("each_engine")\n'
CHUNKS = "pytestmark = [pytest.mark.usefixtures(each_chunk.__name__)]\n"
NONE = "def test_one() -> None: ...\n"


@pytest.mark.parametrize(
    ("module", "expression", "wanted"),
    [
        (SERVED, "not sandbox and not docker", False),
        (LISTED, "not docker and not sandbox", False),
        (LISTED, "not timeout", False),
        (SOME, "not sandbox", True),
        (NONE, "not sandbox", True),
        (SERVED, "sandbox and not matrix", True),
        # They may come with a parameter of another module.
        (NONE, "(sandbox or docker or zk) and not spark", True),
        (SERVED, "(sandbox or docker or zk) and spark", False),
        (SERVED, "not (sandbox or zk)", False),
        # Those never do.
        (NONE, "alone and not spark", False),
        (SERVED, "alone", False),
        (SOME, "alone and not spark", True),
        (ENGINES, "not alone and not each_engine", False),
        (CHUNKS, "not alone and not each_chunk", False),
        (ENGINES, "not each_chunk", True),
        # What pytest itself judges.
        (NONE, "alone and", True),
        (NONE, "alone(why='so')", True),
        (SERVED, "", True),
    ],
)
def test_only_what_is_surely_not_wanted_is_left_out(
    module: str, expression: str, *, wanted: bool
) -> None:
    """By the marks of the module as a whole, or without the word for marks of its own."""
    assert can_be_wanted(module, expression) is wanted
