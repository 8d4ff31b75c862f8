"""CreateTopics (from 0.10.1 on): creates topics; sent to the controller.

v1 can validate only, v4 (2.4) takes the broker's defaults for -1 (KIP-464), v5 (2.4) returns what
was created (KIP-525), v7 (2.8) its id. Kafka 4 serves 2 and later.
Source: Kafka 3.9 ``CreateTopicsRequest``; KIP-4.
"""

from dataclasses import dataclass
from typing import Annotated

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import (
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

CREATE_TOPICS = Api(key=ApiKey.CREATE_TOPICS, last=7, flexible=5)

FIRST_WITH_DEFAULTS = 4
"""The first version in which -1 stands for the broker's default."""

BROKER_DEFAULT = -1

_NO_TOPIC_ID = bytes(16)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaAssignment:
    """The brokers of a partition's replicas, the preferred leader first."""

    partition: Int32
    broker_ids: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSetting:
    """A topic-level configuration entry."""

    name: String
    value: NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create; both numbers are -1 if ``assignments`` is set."""

    name: String
    num_partitions: Int32
    replication_factor: Int16
    assignments: tuple[ReplicaAssignment, ...] = ()
    configs: tuple[TopicSetting, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSetting:
    """A configuration entry of a created topic, and its source."""

    name: String
    value: NullableString
    read_only: Bool
    config_source: Int8 = -1
    is_sensitive: Bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedTopic:
    """The result of creating one topic."""

    name: String
    topic_id: Annotated[Uuid, Since(7)] = _NO_TOPIC_ID
    error_code: Int16
    error_message: Annotated[NullableString, Since(1)] = None
    topic_config_error_code: Annotated[Int16, Since(5), Tagged(0)] = 0
    num_partitions: Annotated[Int32, Since(5)] = -1
    replication_factor: Annotated[Int16, Since(5)] = -1
    configs: Annotated[tuple[CreatedSetting, ...] | None, Since(5), NullSince(5)] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsResponse(Response, api=CREATE_TOPICS):
    """One result for each topic."""

    throttle_time_ms: Annotated[Int32, Since(2)] = 0
    topics: tuple[CreatedTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTopicsRequest(Request[CreateTopicsResponse]):
    """Sent to the controller, which responds when the topics exist, or after the time-out."""

    topics: tuple[NewTopic, ...]
    timeout_ms: Int32
    validate_only: Annotated[Bool, Since(1)] = False
