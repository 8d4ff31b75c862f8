"""The cases, by name."""

from collections.abc import Callable
from typing import NamedTuple

from tests.alike.scene import Scene

Body = Callable[[Scene], object]


class Case(NamedTuple):
    """One thing to do with a library.

    Attributes:
        name: ``area: what``.
        body: does it, and gives what is compared.
    """

    name: str
    body: Body


_CASES: dict[str, Case] = {}


def case(what: str) -> Callable[[Body], Body]:
    """Put a function into the book; the area is the name of its module."""

    def put(body: Body) -> Body:
        name = f"{body.__module__.rpartition('.')[2]}: {what}"
        if name in _CASES:
            raise ValueError(f"two cases are called {name!r}")
        _CASES[name] = Case(name, body)
        return body

    return put


def all_cases() -> list[Case]:
    """Every case there is."""
    # Loading them puts them into the book.
    from tests.alike import cases  # noqa: PLC0415

    cases.load()
    return list(_CASES.values())
