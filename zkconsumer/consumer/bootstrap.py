"""Looks for a broker that answers, when a consumer is made."""

from collections.abc import Collection

from zkconsumer.consumer.arguments import topics_of
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.errors import NoBrokersAvailable, RemoteProtocolError
from zkconsumer.wire.releases import Release


def connect(parts: ConsumerComponents, topics: Collection[str]) -> Release | None:
    """Ask for the metadata of what will be read; the first poll goes on from the answer.

    Args:
        parts: of the consumer, before it reads anything.
        topics: what it is going to subscribe to; none is fine.

    Returns:
        Which Kafka the broker is that answered.

    Raises:
        IllegalArgumentError: one of them is no topic.
        NoBrokersAvailable: nobody who speaks Kafka answers within ``bootstrap_timeout_ms``.
        AuthenticationFailed, UnsupportedVersion, BrokerError: who answers refuses us.

    Source: kafka-python's ``KafkaConsumer.bootstrap``.
    """
    try:
        parts.metadata.begin(topics_of(topics), timeout_ms=parts.config.bootstrap_timeout_ms)
    except RemoteProtocolError as error:
        raise NoBrokersAvailable(str(error)) from error
    return parts.client.release
