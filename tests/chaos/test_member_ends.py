"""The result includes how members end."""

import pytest

from tests.chaos.cast import Leftovers
from tests.chaos.history import check_ends
from tests.histories.rules import CheckResult

CLEAN = Leftovers((), (), ())


def test_members_that_leave_nothing_behind_are_counted() -> None:
    """Each member without threads or descriptors left counts as a clean end."""
    result = CheckResult()
    check_ends({"a": CLEAN, "b": CLEAN}, result)
    assert result.good
    assert result.counts == {"clean ends of ours": 2}


@pytest.mark.parametrize(
    ("left", "complaint"),
    [
        (Leftovers((), ("control",), ()), "left threads or descriptors behind: 1 (b: "),
        (Leftovers((), (), ("socket:[1]",)), "left threads or descriptors behind: 1 (b: "),
        (Leftovers(("live",), (), ()), "left threads or descriptors behind: 1 (b: "),
        (None, "members that did not end when told: 1 (b)"),
    ],
)
def test_a_member_that_leaves_something_behind_is_reported(
    left: Leftovers | None, complaint: str
) -> None:
    """A member that recorded no end at all is reported, too."""
    result = CheckResult()
    check_ends({"a": CLEAN, "b": left}, result)
    assert result.complaints()[0].startswith(complaint)
    assert result.counts == {"clean ends of ours": 1}
