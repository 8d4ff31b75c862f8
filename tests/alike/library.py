"""A library by kafka-python's names, as a program sees it after its import was changed."""

import importlib
from types import ModuleType
from typing import Any

THEIRS, OURS = "kafka", "zkconsumer"


class Library:
    """``library.KafkaConsumer``, ``library.errors.KafkaError``; missing names raise when used.

    Args:
        name: the package's name, in place of ``kafka``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._package = importlib.import_module(name)

    @property
    def errors(self) -> ModuleType:
        """``kafka.errors``."""
        return self.module("errors")

    @property
    def structs(self) -> ModuleType:
        """``kafka.structs``."""
        return self.module("structs")

    def module(self, name: str) -> ModuleType:
        """A module of the package."""
        return importlib.import_module(f"{self.name}.{name}")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._package, name)
