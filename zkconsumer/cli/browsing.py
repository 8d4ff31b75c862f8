"""Browses messages for a command; each query has connections of its own."""

import argparse
from collections.abc import Generator
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import BrowseResult
from zkconsumer.browse.query import BrowseLimits, MessageQuery
from zkconsumer.browse.reading import MessageBrowser
from zkconsumer.cli.cluster_access import open_cluster
from zkconsumer.cli.cluster_arguments import Container
from zkconsumer.errors import ConfigError, ZkConsumerError
from zkconsumer.properties_file import load_properties
from zkconsumer.schemas.remembered import RememberedSchemas, SchemaMemory

if TYPE_CHECKING:
    from zkconsumer.schemas.registry_settings import RegistrySettings

_REGISTRY_MS: Final = 2_000
"""The time limit of fetching a schema, since a person waits for the query."""
_REGISTRY_BUDGET_MS: Final = 5_000
"""The time limit of fetching all schemas of one query: half of the query's."""
_FOLLOWED: Final = 1_000
"""The approximate number of messages per partition in each later query of ``follow``."""


def add_registry_argument(parser: Container) -> None:
    """Add the options for the schema registry, by which ``CommandBrowser`` decodes Avro values."""
    parser.add_argument(
        "--schema-registry",
        metavar="URL",
        help="decode values that have an Avro schema of this registry",
    )
    parser.add_argument(
        "--schema-registry-config",
        metavar="FILE",
        help="a .properties file with settings of the registry: basic.auth.user.info, "
        "bearer.auth.token, ssl.ca.location and others of Confluent's clients",
    )


class CommandBrowser:
    """Browses messages, without joining a group or committing offsets. Thread: any.

    Schemas are cached across queries, since a page that follows messages repeats its query.

    Args:
        args: parsed arguments of ``add_cluster_arguments`` and ``add_registry_argument``.
        limits: the limits of one query.

    Raises:
        ConfigError: the registry's address or a setting is malformed, or a library is missing.
    """

    def __init__(self, args: argparse.Namespace, *, limits: BrowseLimits | None = None) -> None:
        self._args = args
        self._limits = limits
        self._known = SchemaMemory()
        self._registry = _registry(args.schema_registry, args.schema_registry_config)

    def at(self, args: argparse.Namespace) -> "CommandBrowser":
        """Return a ``CommandBrowser`` for another cluster, with the same registry."""
        other = copy(self)
        other._args = args  # noqa: SLF001 - an instance of this class
        return other

    def decoder(self) -> BytesDecoder:
        """Return the decoder of one query, with the query's time limit for schemas."""
        if self._registry is None:
            return BytesDecoder()
        from zkconsumer.schemas.registry import RegistryClient  # noqa: PLC0415 - an extra

        client = RegistryClient(self._registry, "avro", budget_ms=_REGISTRY_BUDGET_MS)
        return BytesDecoder(RememberedSchemas(client, self._known))

    def __call__(self, query: MessageQuery) -> BrowseResult:
        """Return the messages of a query.

        Raises:
            ConfigError: there is no such topic or partition.
            ZkConsumerError: no broker responds.
        """
        with open_cluster(self._args) as access:
            browser = MessageBrowser(access.client, self.decoder(), limits=self._limits)
            return browser.read(query)

    def follow(self, query: MessageQuery) -> Generator[BrowseResult, None, None]:
        """Yield the result of a query, then of queries for later messages, until it is closed.

        A failure after the first query is a note; the next query starts where the failed one did.

        Raises:
            ConfigError: there is no such topic or partition.
            ZkConsumerError: no broker responds.
        """
        with open_cluster(self._args) as access:
            while True:
                browser = MessageBrowser(access.client, self.decoder(), limits=self._limits)
                try:
                    result = browser.read(query)
                except ZkConsumerError as error:
                    if query.start != "positions":
                        raise
                    result = BrowseResult(notes=(str(error),), positions=query.positions)
                yield result
                query = replace(
                    query, start="positions", positions=result.positions, limit=_FOLLOWED
                )


def _registry(url: str | None, config: str | None) -> "RegistrySettings | None":
    if not url:
        if config is not None:
            raise ConfigError("--schema-registry-config is for a registry: give --schema-registry")
        return None
    from zkconsumer.schemas.payloads import need_library  # noqa: PLC0415 - an extra
    from zkconsumer.schemas.registry_settings import RegistrySettings  # noqa: PLC0415

    need_library("avro")
    settings = RegistrySettings.of(url, {} if config is None else load_properties(config))
    return replace(settings, timeout_ms=min(settings.timeout_ms, _REGISTRY_MS))
