"""Checks the settings for decoding values, before anything is started. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from zkconsumer.errors import ConfigError
from zkconsumer.schemas.definition import KINDS

SCHEMA_IDS: Final = ("column", "strip")
_FORMATS: Final = frozenset({"parquet", "delta", "iceberg"})


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodeSettings:
    """The settings for decoding values to columns.

    Attributes:
        format: ``avro``, ``json`` or ``protobuf``; None to recognise schema ids only.
        registry: the schema registry's URL.
        registry_options: options of the registry client, named as in Confluent's clients, such as
            ``basic.auth.user.info``.
        schemas: a folder of schemas, in place of a registry.
        bare: whether values have no schema id, but the latest schema of ``TOPIC-value``.
        schema_id: ``column``: values are landed unchanged; ``strip``: the bytes before the payload
            are landed in a column of their own instead.
    """

    format: str | None = None
    registry: str | None = field(default=None, repr=False)
    registry_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    schemas: str | None = None
    bare: bool = False
    schema_id: str = "column"

    def check(self, landing: str, topics: tuple[str, ...]) -> None:
        """Check that the settings are consistent.

        Args:
            landing: the drain's format.
            topics: the names of topics; empty if subscribed by pattern.

        Raises:
            ConfigError: settings contradict each other.
        """
        if self.schema_id not in SCHEMA_IDS:
            raise ConfigError(
                f"--schema-id is {self.schema_id!r}: it must be {' or '.join(SCHEMA_IDS)}"
            )
        if landing not in _FORMATS:
            what = "--to kafka" if landing == "kafka" else f"--format {landing}"
            raise ConfigError(
                f"{what} has no typed columns: --decode and --schema-id are for parquet, "
                "delta and iceberg"
            )
        if self.format is None:
            self._check_undecoded()
            return
        if self.format not in KINDS:
            raise ConfigError(f"--decode is {self.format!r}: it must be one of {', '.join(KINDS)}")
        if (self.registry is None) == (self.schemas is None):
            raise ConfigError(
                "--decode requires exactly one of --schema-registry URL and --schemas FOLDER"
            )
        if self.registry is None and self.registry_options:
            raise ConfigError("--schema-registry-config requires --schema-registry")
        if len(set(topics)) != 1:
            raise ConfigError(
                "--decode lands one topic per path, since the columns are those of one record: "
                "name one topic with --topics, and drain every other topic to a path of its own"
            )
        if self.bare and self.schema_id == "strip":
            raise ConfigError(
                "--bare-values and --schema-id strip can't be combined: such values have no "
                "schema id to strip"
            )

    def _check_undecoded(self) -> None:
        if self.registry is not None or self.schemas is not None or self.bare:
            raise ConfigError(
                "--schema-registry, --schemas and --bare-values require --decode FORMAT"
            )

    def text(self) -> str:
        """Return the settings that must not change between runs on one path, as text."""
        parts = [self.format or "ids", *(["bare"] if self.bare else []), self.schema_id]
        return " ".join(parts)
