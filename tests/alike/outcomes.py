"""What a case came to, as values that JSON takes: so that two processes' outcomes compare."""

import json
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

Outcome = Any
"""JSON: what a case returned, or ``{"raised": name, "caught by": [names]}``."""

IN_VAIN = "InVain"
"""What is raised where a case waits for something that does not come. Nothing is alike to it."""
HUNG: Outcome = {"hung": True}
"""In place of an outcome, where none was told in time."""
_NOT_TOLD = {"object", "BaseException", "Exception"}
_NOT_PYTHONS = ("kafka", "zkconsumer", "tests")


class Shown(NamedTuple):
    """An outcome that is a part of what a case returns."""

    outcome: Outcome


def plain(value: Any) -> Outcome:
    """Make JSON of a value: types count where a caller can tell them apart."""
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
    """Tell of an error which ``except`` would catch it.

    Args:
        error: what came.
        errors: the module that has the library's errors by kafka-python's names.
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


def came_to_nothing(outcome: Outcome) -> bool:
    """Whether a case hung, or what it waited for did not come."""
    return outcome == HUNG or (isinstance(outcome, dict) and outcome.get("raised") == IN_VAIN)


def are_alike(theirs: Outcome, ours: Outcome) -> bool:
    """Whether a program that goes by theirs goes on with ours.

    Values are equal. An error is caught by every ``except`` that catches theirs, by name; that
    others catch it, too (ours have bases of their own), changes nothing for such a program.
    """
    if came_to_nothing(theirs) or came_to_nothing(ours):
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
