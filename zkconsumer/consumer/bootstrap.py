"""Connects to a first broker when a consumer is created."""

from collections.abc import Collection

from zkconsumer.consumer.arguments import topics_of
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.errors import NoBrokersAvailable, RemoteProtocolError
from zkconsumer.wire.releases import Release


def connect(parts: ConsumerComponents, topics: Collection[str]) -> Release | None:
    """Request the metadata of the topics to read; the first poll uses the response.

    Args:
        parts: the components of a consumer that has read nothing yet.
        topics: the topics that it will subscribe to; may be empty.

    Returns:
        The Kafka release of the broker that responded; None if unknown.

    Raises:
        IllegalArgumentError: an item is no topic name.
        NoBrokersAvailable: no Kafka broker responded within ``bootstrap_timeout_ms``.
        AuthenticationFailed, UnsupportedVersion, BrokerError: the broker refused the request.

    Source: kafka-python's ``KafkaConsumer.bootstrap``.
    """
    try:
        parts.metadata.begin(topics_of(topics), timeout_ms=parts.config.bootstrap_timeout_ms)
    except RemoteProtocolError as error:
        raise NoBrokersAvailable(str(error)) from error
    return parts.client.release
