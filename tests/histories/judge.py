"""Judges a history: from operations to a verdict."""

from collections.abc import Iterable

from tests.histories.assembly import assemble
from tests.histories.commits import judge_commits
from tests.histories.facts import History
from tests.histories.losses import judge_losses
from tests.histories.operations import parse
from tests.histories.polls import judge_polls
from tests.histories.repeats import count_repeats
from tests.histories.rules import Verdict
from tests.histories.values import judge_values


def judge(objects: Iterable[object]) -> Verdict:
    """Judge a history given as decoded lines.

    Raises:
        BadHistory: the lines are not a history.
    """
    return judge_history(assemble(parse(objects)))


def judge_history(history: History) -> Verdict:
    """Judge an assembled history."""
    outcome = Verdict()
    judge_losses(history, outcome)
    judge_values(history, outcome)
    judge_polls(history, outcome)
    judge_commits(history, outcome)
    count_repeats(history, outcome)
    return outcome
