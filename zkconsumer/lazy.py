"""Load the modules of public names at their first use, so that importing a package is cheap."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def load_later(
    package: str, homes: Mapping[str, str], absent: Mapping[str, str] | None = None
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a package, which imports a name's module at its first use.

    Hide it from type checkers (``if not TYPE_CHECKING``): with it they would accept any name.

    Args:
        package: the ``__name__`` of the package.
        homes: the module of each name, relative to the package.
        absent: names that callers may expect and that do not exist, with the advice for each. They
            raise an ``ImportError``: an import hides the text of any other error.
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
