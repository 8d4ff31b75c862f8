"""Checks a history: from operations to a result."""

from collections.abc import Iterable

from tests.histories.assembly import assemble
from tests.histories.commits import check_commits
from tests.histories.facts import History
from tests.histories.losses import check_losses
from tests.histories.operations import parse
from tests.histories.polls import check_polls
from tests.histories.repeats import count_repeats
from tests.histories.rules import CheckResult
from tests.histories.values import check_values


def check_operations(objects: Iterable[object]) -> CheckResult:
    """Check a history given as decoded lines.

    Raises:
        BadHistory: the lines are not a history.
    """
    return check_history(assemble(parse(objects)))


def check_history(history: History) -> CheckResult:
    """Check an assembled history."""
    outcome = CheckResult()
    check_losses(history, outcome)
    check_values(history, outcome)
    check_polls(history, outcome)
    check_commits(history, outcome)
    count_repeats(history, outcome)
    return outcome
