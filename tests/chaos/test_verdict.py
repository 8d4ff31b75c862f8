"""How members end is part of the verdict."""

import pytest

from tests.chaos.cast import LeftBehind
from tests.chaos.verdict import judge_ends
from tests.histories.rules import Verdict

CLEAN = LeftBehind((), (), ())


def test_members_that_leave_nothing_behind_are_counted() -> None:
    """Each of them."""
    verdict = Verdict()
    judge_ends({"a": CLEAN, "b": CLEAN}, verdict)
    assert verdict.good
    assert verdict.counts == {"clean ends of ours": 2}


@pytest.mark.parametrize(
    ("left", "complaint"),
    [
        (LeftBehind((), ("control",), ()), "left threads or descriptors behind: 1 (b: "),
        (LeftBehind((), (), ("socket:[1]",)), "left threads or descriptors behind: 1 (b: "),
        (LeftBehind(("live",), (), ()), "left threads or descriptors behind: 1 (b: "),
        (None, "members that did not end when told: 1 (b)"),
    ],
)
def test_one_that_leaves_something_behind_is_told(left: LeftBehind | None, complaint: str) -> None:
    """Or that never said what it left."""
    verdict = Verdict()
    judge_ends({"a": CLEAN, "b": left}, verdict)
    assert verdict.complaints()[0].startswith(complaint)
    assert verdict.counts == {"clean ends of ours": 1}
