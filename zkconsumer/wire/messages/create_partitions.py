"""CreatePartitions (from 1.0 on): gives topics more partitions; sent to the controller.

Source: Kafka 3.9 ``CreatePartitionsRequest``; KIP-195.
"""

from dataclasses import dataclass

from zkconsumer.wire.api import Api, ApiKey, Request, Response
from zkconsumer.wire.schema import Bool, Int16, Int32, NullableString, String

CREATE_PARTITIONS = Api(key=ApiKey.CREATE_PARTITIONS, last=3, flexible=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReplicas:
    """The brokers of a new partition's replicas, the preferred leader first."""

    broker_ids: tuple[Int32, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowingTopic:
    """A topic, and how many partitions it is to have in all; None: the broker places them."""

    name: String
    count: Int32
    assignments: tuple[PartitionReplicas, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GrownTopic:
    """The result for one topic."""

    name: String
    error_code: Int16
    error_message: NullableString


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsResponse(Response, api=CREATE_PARTITIONS):
    """One result for each topic."""

    throttle_time_ms: Int32 = 0
    results: tuple[GrownTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatePartitionsRequest(Request[CreatePartitionsResponse]):
    """Sent to the controller."""

    topics: tuple[GrowingTopic, ...]
    timeout_ms: Int32
    validate_only: Bool = False
