"""Metadata: the brokers, and the leaders of topics.

v0: an empty topic list asks for every topic. Asking creates a topic where the broker's
``auto.create.topics.enable`` is on. Source: Kafka 0.8.2.2 ``TopicMetadataRequest``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, String

METADATA = Api(key=ApiKey.METADATA, last=0)

NO_LEADER = -1
"""The leader of a partition that has none now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataBroker:
    """A live broker."""

    id: Int32
    host: String
    port: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMetadata:
    """One partition: ``leader`` may be -1; dead replicas are left out (error 9)."""

    error_code: Int16
    partition: Int32
    leader: Int32
    replicas: tuple[Int32, ...]
    isr: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicMetadata:
    """One topic: the partitions come in no particular order."""

    error_code: Int16
    topic: String
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataResponse(Response):
    """The cluster as one broker sees it."""

    API: ClassVar[Api] = METADATA

    brokers: tuple[MetadataBroker, ...]
    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataRequest(Request[MetadataResponse]):
    """Asks any broker about these topics; about all where there are none."""

    API: ClassVar[Api] = METADATA
    RESPONSE: ClassVar[type[Response]] = MetadataResponse

    topics: tuple[String, ...]
