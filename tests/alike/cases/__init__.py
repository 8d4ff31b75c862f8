"""The cases, one module for each area."""

import importlib
import pkgutil


def load() -> None:
    """Import every module of cases."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
