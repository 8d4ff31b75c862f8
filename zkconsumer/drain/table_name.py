"""The name of a drain's Iceberg table and of its catalog. Pure."""

from dataclasses import dataclass
from typing import Self

from zkconsumer.drain.choosing import scheme_of
from zkconsumer.errors import ConfigError

DEFAULT_TABLE = "kafka.messages"
DEFAULT_CATALOG = "default"
"""The catalog that pyiceberg loads if none is named."""
_SCHEMES_WITH_JAVA = frozenset({"hdfs", "viewfs"})
"""Schemes that pyiceberg supports only through Hadoop's C library, with a JVM in process."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A table of a catalog.

    Attributes:
        catalog: the catalog's name in pyiceberg's configuration; None: the drain's own, a file at
            its path.
        table: the namespace and the name, separated by a dot.
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


def refuse_hdfs(uri: str) -> None:
    """Refuse paths where pyiceberg, which writes the table on each engine, can't keep it.

    Raises:
        ConfigError: the path or URI is on HDFS.
    """
    scheme = scheme_of(uri)
    if scheme in _SCHEMES_WITH_JAVA:
        raise ConfigError(
            f"--format iceberg can't be kept in {scheme}:// ({uri}), on no engine: give a folder "
            "or a bucket, or another format"
        )
