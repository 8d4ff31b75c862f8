"""Metadata: the brokers, topics, partitions and leaders of a cluster.

v0: an empty topic list requests every topic; from v1 on (0.10) it requests none, and null every
    topic. A request creates a topic if the broker's ``auto.create.topics.enable`` is on; v4 (0.11)
    can forbid that. v7 (2.1) has leader epochs, v10 (2.8) topic ids.
Source: Kafka 0.8.2.2 ``TopicMetadataRequest``, Kafka 3.9 ``MetadataRequest``, KIP-320, KIP-516.
"""

from typing import Annotated

from zkconsumer.wire.absent import NO_EPOCH, NO_OPERATIONS, NO_TOPIC_ID
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Int16,
    Int32,
    LenientString,
    NullableString,
    NullSince,
    Since,
    SingleField,
    String,
    Until,
    Uuid,
)


class MetadataBroker(ApiMessage):
    """A live broker."""

    id: Int32
    host: String
    port: Int32
    rack: Annotated[NullableString, Since(1)] = None


class PartitionMetadata(ApiMessage):
    """One partition: ``leader`` may be -1; before version 5, dead replicas are omitted (error 9).

    From version 5 on ``offline_replicas`` lists them.
    """

    error_code: Int16
    partition: Int32
    leader: Int32
    leader_epoch: Annotated[Int32, Since(7)] = NO_EPOCH
    replicas: tuple[Int32, ...]
    isr: tuple[Int32, ...]
    offline_replicas: Annotated[tuple[Int32, ...], Since(5)] = ()


class TopicMetadata(ApiMessage):
    """One topic; its partitions come in no particular order."""

    error_code: Int16
    topic: LenientString
    topic_id: Annotated[Uuid, Since(10)] = NO_TOPIC_ID
    is_internal: Annotated[Bool, Since(1)] = False
    partitions: tuple[PartitionMetadata, ...]
    authorized_operations: Annotated[Int32, Since(8)] = NO_OPERATIONS


class MetadataResponse(Response, api=APIS[ApiKey.METADATA]):
    """The cluster as one broker sees it."""

    throttle_time_ms: Annotated[Int32, Since(3)] = 0
    brokers: tuple[MetadataBroker, ...]
    cluster_id: Annotated[NullableString, Since(2)] = None
    controller_id: Annotated[Int32, Since(1)] = -1
    topics: tuple[TopicMetadata, ...]
    authorized_operations: Annotated[Int32, Since(8), Until(10)] = NO_OPERATIONS


class MetadataRequestTopic(ApiMessage):
    """A topic in a request, by name (versions with topic ids allow an id instead)."""

    topic_id: Annotated[Uuid, Since(10)] = NO_TOPIC_ID
    topic: LenientString


class MetadataRequest(Request[MetadataResponse]):
    """Sent to any broker; see ``all_topics`` for a request of every topic.

    ``allow_auto_topic_creation=False`` can't be encoded below version 4, which would create topics.
    """

    topics: Annotated[
        tuple[Annotated[str, SingleField(MetadataRequestTopic, "topic")], ...] | None, NullSince(1)
    ]
    allow_auto_topic_creation: Annotated[Bool, Since(4)] = True
    include_cluster_authorized_operations: Annotated[Bool, Since(8), Until(10)] = False
    include_topic_authorized_operations: Annotated[Bool, Since(8)] = False


def all_topics(version: int) -> tuple[str, ...] | None:
    """Return the ``topics`` of a request for every topic, in that version."""
    return () if version == 0 else None
