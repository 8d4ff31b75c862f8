"""Collects the metrics of this process's consumers, and serves them to Prometheus."""

import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final, Protocol, Self, TypeAlias, runtime_checkable

from zkconsumer.errors import ConfigError, ConsumerClosed
from zkconsumer.metrics.consumer_names import consumer_families
from zkconsumer.metrics.consumer_numbers import (
    ConsumerNumbers,
    numbers_of_connector,
    numbers_of_poll,
)
from zkconsumer.metrics.families import Family
from zkconsumer.metrics.prometheus import FamilyCollector, require_prometheus
from zkconsumer.metrics.scraping import ScrapeServer

if TYPE_CHECKING:
    from zkconsumer.connector.measuring.numbers import ConnectorNumbers
    from zkconsumer.consumer.config import PollConfig

_BACKLOG: Final = 128


@runtime_checkable
class MeasuredConnector(Protocol):
    """The part of ``ZookeeperConsumerConnector`` that is used here."""

    @property
    def closed(self) -> bool:
        """Whether the connector is closed."""
        ...

    def numbers(self) -> "ConnectorNumbers":
        """Return the connector's measures."""
        ...


class MeasuredPoll(Protocol):
    """The part of ``KafkaConsumer`` that is used here."""

    config: "PollConfig"

    def metrics(self) -> dict[str, dict[str, float]]:
        """Return the consumer's counters, by group and name."""
        ...


Consumer: TypeAlias = MeasuredConnector | MeasuredPoll


class ConsumerMetrics:
    """Collects the metrics of consumers; leaves closed ones out. Thread: any.

    Args:
        *consumers: ``ZookeeperConsumerConnector`` and ``KafkaConsumer``.
    """

    def __init__(self, *consumers: Consumer) -> None:
        self._consumers = list(consumers)

    def add(self, consumer: Consumer) -> None:
        """Add a consumer to those measured.

        Args:
            consumer: a ``ZookeeperConsumerConnector`` or ``KafkaConsumer``, open or not.
        """
        self._consumers.append(consumer)

    def families(self) -> Iterator[Family]:
        """Return the current metrics of all open consumers.

        Returns:
            One family for each metric; consumers of the same group and client id are summed.

        Raises:
            ConsumerForked: a consumer was created by this process's parent.
        """
        return consumer_families(self._numbers())

    def _numbers(self) -> Iterator[ConsumerNumbers]:
        for consumer in list(self._consumers):
            found = _numbers_of(consumer)
            if found is not None:
                yield found


def _numbers_of(consumer: Consumer) -> ConsumerNumbers | None:
    """Return a consumer's numbers; None if it was closed."""
    if isinstance(consumer, MeasuredConnector):
        return None if consumer.closed else numbers_of_connector(consumer.numbers())
    try:
        metrics = consumer.metrics()
    except ConsumerClosed:
        return None
    config = consumer.config
    return numbers_of_poll(config.group_id or "", config.client_id, metrics)


class MetricsServer:
    """Serves metrics to Prometheus until it is closed; use it as a context manager.

    Args:
        port: the port to listen on; 0 chooses a free one.
        families: computes the metrics on each scrape, on a thread of the server.
        host: the address to listen on. By default only this machine can connect; "" is all
            addresses.

    Attributes:
        port: the port on which it listens.

    Raises:
        ConfigError: it can't listen on the address, or the extra ``metrics`` is missing.
    """

    def __init__(
        self, port: int, families: Callable[[], Iterator[Family]], *, host: str = "127.0.0.1"
    ) -> None:
        client = require_prometheus()
        registry = client.CollectorRegistry(auto_describe=False)
        registry.register(FamilyCollector(families))
        listening = _listen(host, port)
        self.port: int = listening.getsockname()[1]
        self._server = ScrapeServer(listening, client.make_wsgi_app(registry))

    def close(self) -> None:
        """Close the server; responses in progress have two seconds to complete. Idempotent."""
        self._server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem = "a port is a number from 0 to 65535"
    if 0 <= port < 1 << 16:
        try:
            return socket.create_server((host, port), family=family, backlog=_BACKLOG)
        except OSError as error:
            problem = str(error)
    raise ConfigError(
        f"metrics can't be served at {host or '*'}:{port}: {problem}; choose another port"
    )


def start_metrics_server(port: int, *consumers: Consumer, host: str = "127.0.0.1") -> MetricsServer:
    """Serve the metrics of these consumers at ``http://host:port/metrics``.

    Close the server when the consumers are closed.

    Args:
        port: the port to listen on; 0 chooses a free one.
        *consumers: ``ZookeeperConsumerConnector`` and ``KafkaConsumer``.
        host: see ``MetricsServer``.

    Returns:
        The running server; its ``port`` is the one that it listens on.

    Raises:
        ConfigError: see ``MetricsServer``.

    Thread: any.
    """
    return MetricsServer(port, ConsumerMetrics(*consumers).families, host=host)
