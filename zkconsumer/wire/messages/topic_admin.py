"""The requests that create, grow, configure and delete topics.

The first three are sent to the controller. CreateTopics (from 0.10.1 on, KIP-4): v1 can validate
only, v4 (2.4) uses the broker's defaults for -1 (KIP-464), v5 (2.4) returns what was created
(KIP-525), v7 (2.8) its id; Kafka 4 serves 2 and later. DeleteTopics (from 0.10.1 on, KIP-4): v5
(2.7) explains an error; Kafka 4 serves 1 and later. CreatePartitions (from 1.0 on, KIP-195) gives
topics more partitions. IncrementalAlterConfigs (from 2.3 on, KIP-339) changes single settings; any
broker does it for topics.

Source: Kafka 3.9, the requests of these names.
"""

from typing import Annotated

from zkconsumer.wire.absent import NO_TOPIC_ID
from zkconsumer.wire.api import APIS, ApiKey, Request, Response
from zkconsumer.wire.schema import (
    ApiMessage,
    Bool,
    Int8,
    Int16,
    Int32,
    NullableString,
    NullSince,
    Since,
    String,
    Tagged,
    Uuid,
)

FIRST_WITH_DEFAULTS = 4
"""The first version in which -1 stands for the broker's default."""

BROKER_DEFAULT = -1


TOPIC = 2
"""The type of resource that IncrementalAlterConfigs changes."""
SET = 0
DELETE = 1
"""Its operations."""


class ReplicaAssignment(ApiMessage):
    """The brokers of a partition's replicas, the preferred leader first."""

    partition: Int32
    broker_ids: tuple[Int32, ...]


class TopicSetting(ApiMessage):
    """A topic-level configuration entry."""

    name: String
    value: NullableString


class NewTopic(ApiMessage):
    """A topic to create; both numbers must be -1 if ``assignments`` is set."""

    name: String
    num_partitions: Int32
    replication_factor: Int16
    assignments: tuple[ReplicaAssignment, ...] = ()
    configs: tuple[TopicSetting, ...] = ()


class CreatedSetting(ApiMessage):
    """A configuration entry of a created topic, and its source."""

    name: String
    value: NullableString
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool


class CreatedTopic(ApiMessage):
    """The result of creating one topic."""

    name: String
    topic_id: Annotated[Uuid, Since(7)] = NO_TOPIC_ID
    error_code: Int16
    error_message: Annotated[NullableString, Since(1)] = None
    topic_config_error_code: Annotated[Int16, Since(5), Tagged(0)] = 0
    num_partitions: Annotated[Int32, Since(5)] = -1
    replication_factor: Annotated[Int16, Since(5)] = -1
    configs: Annotated[tuple[CreatedSetting, ...] | None, Since(5), NullSince(5)] = None


class CreateTopicsResponse(Response, api=APIS[ApiKey.CREATE_TOPICS]):
    """One result for each topic."""

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[CreatedTopic, ...]


class CreateTopicsRequest(Request[CreateTopicsResponse]):
    """Sent to the controller, which responds when the topics exist, or after the time-out."""

    topics: tuple[NewTopic, ...]
    timeout_ms: Int32
    validate_only: Annotated[Bool, Since(1)] = False


class DeletedTopic(ApiMessage):
    """The result of deleting one topic."""

    name: String
    error_code: Int16
    error_message: Annotated[NullableString, Since(5)] = None


class DeleteTopicsResponse(Response, api=APIS[ApiKey.DELETE_TOPICS]):
    """One result for each topic."""

    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    topics: tuple[DeletedTopic, ...]


class DeleteTopicsRequest(Request[DeleteTopicsResponse]):
    """Sent to the controller, which responds when the topics are gone, or after the time-out."""

    topic_names: tuple[String, ...]
    timeout_ms: Int32


class PartitionReplicas(ApiMessage):
    """The brokers of a new partition's replicas, the preferred leader first."""

    broker_ids: tuple[Int32, ...]


class GrowingTopic(ApiMessage):
    """A topic and its new total of partitions; without assignments the broker places them."""

    name: String
    count: Int32
    assignments: tuple[PartitionReplicas, ...] | None = None


class GrownTopic(ApiMessage):
    """The result for one topic."""

    name: String
    error_code: Int16
    error_message: NullableString


class CreatePartitionsResponse(Response, api=APIS[ApiKey.CREATE_PARTITIONS]):
    """One result for each topic."""

    throttle_time_ms: Int32 = 0
    results: tuple[GrownTopic, ...]


class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    """Sent to the controller."""

    topics: tuple[GrowingTopic, ...]
    timeout_ms: Int32
    validate_only: Bool = False


class AlteredSetting(ApiMessage):
    """A setting, and the operation on it."""

    name: String
    config_operation: Int8
    value: NullableString


class AlteredResource(ApiMessage):
    """A topic or a broker, and its changes."""

    resource_type: Int8
    resource_name: String
    configs: tuple[AlteredSetting, ...]


class AlterationResult(ApiMessage):
    """The result for one resource."""

    error_code: Int16
    error_message: NullableString
    resource_type: Int8
    resource_name: String


class IncrementalAlterConfigsResponse(Response, api=APIS[ApiKey.INCREMENTAL_ALTER_CONFIGS]):
    """One result for each resource."""

    throttle_time_ms: Int32 = 0
    resources: tuple[AlterationResult, ...]


class IncrementalAlterConfigsRequest(Request[IncrementalAlterConfigsResponse]):
    """Sent to any broker."""

    resources: tuple[AlteredResource, ...]
    validate_only: Bool = False
