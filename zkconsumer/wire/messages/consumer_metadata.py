"""ConsumerMetadata: what Kafka 0.8.2 calls version 0 of FindCoordinator."""

from zkconsumer.wire.messages.find_coordinator import (
    FIND_COORDINATOR as CONSUMER_METADATA,
)
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorRequest as ConsumerMetadataRequest,
)
from zkconsumer.wire.messages.find_coordinator import (
    FindCoordinatorResponse as ConsumerMetadataResponse,
)

__all__ = ["CONSUMER_METADATA", "ConsumerMetadataRequest", "ConsumerMetadataResponse"]
