"""What kafka-python's tests ask for, by the names of its fixtures: ours, over a running broker.

A plugin of pytest; the broker is told by the environment, ``BOOTSTRAP`` and ``KAFKA_VERSION``.
Consumers are ours, producers kafka-python's own, of the version whose tests are run.
"""

import os
import re
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, NamedTuple

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka import __version__ as version_of_theirs
from kafka.admin import NewTopic

from tests.support.waiting import wait_until
from zkconsumer import KafkaConsumer

PARTITIONS = 4
OF_CONTEXT_MANAGERS = version_of_theirs.startswith("3.")
"""Since 3.0 the factories give context managers, before that the clients themselves."""


class Broker(NamedTuple):
    """Where the broker listens; kafka-python's tests ask a broker's fixture no more than that."""

    host: str
    port: int

    @property
    def bootstrap(self) -> str:
        """``host:port``."""
        return f"{self.host}:{self.port}"


@pytest.fixture(scope="session")
def kafka_broker() -> Broker:
    """The broker that was started for the run."""
    host, _, port = os.environ["BOOTSTRAP"].rpartition(":")
    return Broker(host, int(port))


@pytest.fixture
def topic(request: pytest.FixtureRequest, kafka_broker: Broker) -> str:
    """A new topic that can be written to."""
    words = re.sub(r"[^a-zA-Z0-9._-]", "", request.node.name)
    name = f"{words}_{uuid.uuid4().hex[:10]}"
    with closing(KafkaAdminClient(bootstrap_servers=kafka_broker.bootstrap)) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 1)])
    with closing(KafkaProducer(bootstrap_servers=kafka_broker.bootstrap)) as producer:
        partitions = set(range(PARTITIONS))
        wait_until(lambda: producer.partitions_for(name) == partitions, what=f"topic {name}")
    return name


def _factory(make: Callable[..., Any], closers: ExitStack) -> Callable[..., Any]:
    """A factory of the shape that this kafka-python's tests know."""

    def made(*arguments: Any, **settings: Any) -> Any:
        client = make(*arguments, **settings)
        closers.callback(_close, client)
        return client

    @contextmanager
    def inside(*arguments: Any, **settings: Any) -> Iterator[Any]:
        client = made(*arguments, **settings)
        try:
            yield client
        finally:
            client.close()

    return inside if OF_CONTEXT_MANAGERS else made


def _close(client: Any) -> None:
    with suppress(Exception):  # a test that failed on it says why
        client.close()


def _settings(request: pytest.FixtureRequest, broker: Broker, kind: str) -> dict[str, Any]:
    settings: dict[str, Any] = {
        "bootstrap_servers": broker.bootstrap,
        "client_id": f"{kind}_{request.node.name}",
    }
    if OF_CONTEXT_MANAGERS:
        settings["api_version"] = tuple(map(int, os.environ["KAFKA_VERSION"].split(".")))
    return settings


@pytest.fixture
def kafka_consumer_factory(
    request: pytest.FixtureRequest, kafka_broker: Broker, topic: str
) -> Iterator[Callable[..., Any]]:
    """Makes consumers, ours, of the test's topic."""

    def make(topics: Any = (topic,), **settings: Any) -> KafkaConsumer:
        given = _settings(request, kafka_broker, "consumer")
        given |= {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 500}
        return KafkaConsumer(*topics, **{**given, **settings})

    with ExitStack() as closers:
        yield _factory(make, closers)


@pytest.fixture
def kafka_producer_factory(
    request: pytest.FixtureRequest, kafka_broker: Broker
) -> Iterator[Callable[..., Any]]:
    """Makes producers, kafka-python's."""

    def make(**settings: Any) -> Any:
        return KafkaProducer(**{**_settings(request, kafka_broker, "producer"), **settings})

    with ExitStack() as closers:
        yield _factory(make, closers)


def _one(factory: Callable[..., Any], closers: ExitStack) -> Any:
    return closers.enter_context(factory()) if OF_CONTEXT_MANAGERS else factory()


@pytest.fixture
def kafka_consumer(kafka_consumer_factory: Callable[..., Any]) -> Iterator[Any]:
    """One of them."""
    with ExitStack() as closers:
        yield _one(kafka_consumer_factory, closers)


@pytest.fixture
def kafka_producer(kafka_producer_factory: Callable[..., Any]) -> Iterator[Any]:
    """One of them."""
    with ExitStack() as closers:
        yield _one(kafka_producer_factory, closers)


@pytest.fixture
def consumer(kafka_consumer: Any) -> Any:
    """Its name since 3.0."""
    return kafka_consumer


@pytest.fixture
def producer(kafka_producer: Any) -> Any:
    """Its name since 3.0."""
    return kafka_producer


@pytest.fixture
def send_messages(
    request: pytest.FixtureRequest, topic: str, kafka_producer: Any
) -> Callable[..., list[bytes]]:
    """Writes a message for each of some numbers, and gives them."""

    def send(numbers: Any, partition: int = 0) -> list[bytes]:
        messages = [f"{number}-{request.node.name}-{uuid.uuid4()}".encode() for number in numbers]
        sent = [
            kafka_producer.send(topic, value=message, partition=partition) for message in messages
        ]
        kafka_producer.flush()
        assert all(future.succeeded() for future in sent)
        return messages

    return send
