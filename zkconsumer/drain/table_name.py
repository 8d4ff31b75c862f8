"""Name of a drain's Iceberg table and of its catalog. Pure."""

from dataclasses import dataclass
from typing import Self

DEFAULT_TABLE = "kafka.messages"
DEFAULT_CATALOG = "default"
"""As pyiceberg calls the one that is asked for by no name."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of a catalog.

    Attributes:
        catalog: its name in pyiceberg's configuration; None for the drain's own, a file at its
            path.
        table: the namespace and the name, with a dot between.
    """

    catalog: str | None = None
    table: str = DEFAULT_TABLE

    @property
    def target(self) -> str | None:
        """The table in a drain's identity; None by default."""
        if self == TableName():
            return None
        return f"{self.catalog or ''}:{self.table}"

    @classmethod
    def of_target(cls, target: str | None) -> Self:
        """Parse the text of ``target``."""
        if target is None:
            return cls()
        catalog, _, table = target.partition(":")
        return cls(catalog or None, table)
