"""The registry of all cases, by name."""

from collections.abc import Callable
from typing import NamedTuple

from tests.alike.scene import Scene

Body = Callable[[Scene], object]


class Case(NamedTuple):
    """One use of a library, whose outcome is compared.

    Attributes:
        name: ``area: what``.
        body: uses the library, and returns the values to compare.
    """

    name: str
    body: Body


_CASES: dict[str, Case] = {}


def case(what: str) -> Callable[[Body], Body]:
    """Register a function as a case; the area is the name of its module."""

    def put(body: Body) -> Body:
        name = f"{body.__module__.rpartition('.')[2]}: {what}"
        if name in _CASES:
            raise ValueError(f"two cases are called {name!r}")
        _CASES[name] = Case(name, body)
        return body

    return put


def all_cases() -> list[Case]:
    """Return every case."""
    # Importing the modules registers their cases.
    from tests.alike import cases  # noqa: PLC0415

    cases.load()
    return list(_CASES.values())
