"""The outcome of a case as JSON values, so that two processes' outcomes can be compared."""

import json
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

Outcome = Any
"""JSON: what a case returned, or ``{"raised": name, "caught by": [names]}``."""

IN_VAIN = "InVain"
"""The name of the error of a case that waits in vain; it is not alike to any outcome."""
HUNG: Outcome = {"hung": True}
"""The outcome of a case that did not end in time."""
_NOT_TOLD = {"object", "BaseException", "Exception"}
_NOT_PYTHONS = ("kafka", "zkconsumer", "tests")


class Shown(NamedTuple):
    """An outcome that is a part of what a case returns."""

    outcome: Outcome


def plain(value: Any) -> Outcome:
    """Return a value as JSON, with its type where a caller could tell the difference."""
    match value:
        case Shown():
            return value.outcome
        case None | bool() | float():
            return value
        case int():
            return int(value)
        case str():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return {"bytes": bytes(value).decode("latin-1")}
        case list():
            return [plain(item) for item in value]
        case _:
            return _plain_other(value)


def _plain_other(value: Any) -> Outcome:
    match value:
        case Mapping():
            pairs = [[plain(key), plain(item)] for key, item in value.items()]
            return {"dict": sorted(pairs, key=json.dumps)}
        case Set():
            return {"set": sorted(map(plain, value), key=json.dumps)}
        case tuple():
            name = type(value).__name__ if hasattr(value, "_fields") else "tuple"
            return {name: [plain(item) for item in value]}
        case type():
            return {"class": value.__name__}
        case _:
            return {"instance of": type(value).__name__}


def raised(error: BaseException, errors: Any) -> Outcome:
    """Return an error as JSON: its name, and the ``except`` clauses that would catch it.

    Args:
        error: the error that was raised.
        errors: the library's module of errors, with kafka-python's names.
    """
    named = {
        name
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, BaseException) and isinstance(error, kind)
    }
    of_python = {
        kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        for kind in type(error).__mro__
        if kind.__module__.partition(".")[0] not in _NOT_PYTHONS
    }
    return {"raised": type(error).__name__, "caught by": sorted((named | of_python) - _NOT_TOLD)}


def is_no_outcome(outcome: Outcome) -> bool:
    """Whether a case hung or waited in vain."""
    return outcome == HUNG or (isinstance(outcome, dict) and outcome.get("raised") == IN_VAIN)


def are_alike(theirs: Outcome, ours: Outcome) -> bool:
    """Whether a program that expects theirs also works with ours.

    Values must be equal. Our error must be caught by every ``except`` (by name) that catches
    theirs; it may be caught by others, too (ours have additional bases).
    """
    if is_no_outcome(theirs) or is_no_outcome(ours):
        return False
    match theirs, ours:
        case {"raised": _, "caught by": by_theirs}, {"raised": _, "caught by": by_ours}:
            return set(by_theirs) <= set(by_ours)
        case dict(), dict():
            return theirs.keys() == ours.keys() and all(
                are_alike(theirs[key], ours[key]) for key in theirs
            )
        case list(), list():
            return len(theirs) == len(ours) and all(map(are_alike, theirs, ours))
        case _:
            return type(theirs) is type(ours) and bool(theirs == ours)
