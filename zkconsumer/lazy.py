"""Public names that load their modules at their first use, so that importing a package is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_later(
    package: str, homes: Mapping[str, str], absent: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """A package's ``__getattr__``.

    Keep it from type checkers (``if not TYPE_CHECKING``): they would take any name for one of the
    package's.

    Args:
        package: its ``__name__``.
        homes: the module of each name, as seen from the package.
        absent: names that somebody may look for and that there are not, with what to do instead.
            They raise an ``ImportError``: of any other error an import keeps the text to itself.
    """

    def load(name: str) -> Any:
        if absent is not None and name in absent:
            raise ImportError(f"{package} has no {name}: {absent[name]}", name=name)
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
