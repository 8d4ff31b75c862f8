"""Which modules ``-m`` excludes can be told from their text, without importing them."""

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
        # These marks may come from a parameter of another module.
        (NONE, "(sandbox or docker or zk) and not spark", True),
        (SERVED, "(sandbox or docker or zk) and spark", False),
        (SERVED, "not (sandbox or zk)", False),
        # These marks never do.
        (NONE, "alone and not spark", False),
        (SERVED, "alone", False),
        (SOME, "alone and not spark", True),
        (ENGINES, "not alone and not each_engine", False),
        (CHUNKS, "not alone and not each_chunk", False),
        (ENGINES, "not each_chunk", True),
        # Expressions that only pytest can evaluate.
        (NONE, "alone and", True),
        (NONE, "alone(why='so')", True),
        (SERVED, "", True),
    ],
)
def test_a_module_is_skipped_only_if_no_test_of_it_can_match(
    module: str, expression: str, *, wanted: bool
) -> None:
    """A module is skipped only if its text proves that no test in it can match the expression."""
    assert can_be_wanted(module, expression) is wanted
