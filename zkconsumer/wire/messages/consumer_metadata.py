"""ConsumerMetadata: which broker keeps a group's offsets (from 0.8.2 on; later FindCoordinator).

Source: Kafka 0.8.2.2 ``ConsumerMetadataRequest``, ``ConsumerMetadataResponse``.
"""

from dataclasses import dataclass
from typing import ClassVar

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Int16, Int32, LenientString, String

CONSUMER_METADATA = Api(key=ApiKey.CONSUMER_METADATA, last=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMetadataResponse(Response):
    """The coordinator; with an error -1, "", -1."""

    API: ClassVar[Api] = CONSUMER_METADATA

    error_code: Int16
    coordinator_id: Int32
    host: LenientString
    port: Int32


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMetadataRequest(Request[ConsumerMetadataResponse]):
    """Asks any broker."""

    API: ClassVar[Api] = CONSUMER_METADATA
    RESPONSE: ClassVar[type[Response]] = ConsumerMetadataResponse

    group_id: String
