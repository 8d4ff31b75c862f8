"""Looks at messages for a command: each look opens the cluster for itself."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from zkconsumer.browse.decoding import BytesDecoder
from zkconsumer.browse.message import BrowseResult
from zkconsumer.browse.query import BrowseLimits, MessageQuery
from zkconsumer.browse.reading import MessageBrowser
from zkconsumer.cli.cluster_access import open_cluster

if TYPE_CHECKING:
    from zkconsumer.schemas.source import SchemaSource

_REGISTRY_MS: Final = 2_000
"""How long a schema is waited for: somebody waits for the look."""


def add_registry_argument(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup",
) -> None:
    """Add the schema registry whose Avro values are decoded; ``decoder_of`` reads it."""
    parser.add_argument(
        "--schema-registry",
        metavar="URL",
        help="decode values that have an Avro schema of this registry",
    )


def decoder_of(args: argparse.Namespace) -> BytesDecoder:
    """Return the decoder of keys and values.

    Raises:
        ConfigError: the registry's address is malformed, or a library is missing.
    """
    return BytesDecoder(_schemas(args.schema_registry) if args.schema_registry else None)


def _schemas(url: str) -> "SchemaSource":
    from zkconsumer.schemas.payloads import need_library  # noqa: PLC0415 - an extra
    from zkconsumer.schemas.registry import RegistryClient  # noqa: PLC0415
    from zkconsumer.schemas.registry_settings import RegistrySettings  # noqa: PLC0415

    need_library("avro")
    settings = replace(RegistrySettings.of(url), timeout_ms=_REGISTRY_MS)
    return RegistryClient(settings, "avro")


def browse(
    args: argparse.Namespace,
    query: MessageQuery,
    *,
    limits: BrowseLimits | None = None,
) -> BrowseResult:
    """Look at messages: no group is joined, nothing is committed.

    Args:
        args: with the arguments of ``add_cluster_arguments`` and ``add_registry_argument``.
        query: what is wanted.
        limits: of one look.

    Raises:
        ConfigError: there is no such topic or partition.
        ZkConsumerError: no broker responds.
    """
    with open_cluster(args) as access:
        return MessageBrowser(access.client, decoder_of(args), limits=limits).read(query)
