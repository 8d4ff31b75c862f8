"""A ``KafkaConsumer`` with fake components."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.poll_callers import ConsumerFactory
from tests.support.poll_fakes import FakeParts
from zkconsumer.consumer import kafka_consumer
from zkconsumer.consumer.kafka_consumer import KafkaConsumer


@pytest.fixture
def make_consumer(monkeypatch: pytest.MonkeyPatch) -> Iterator[ConsumerFactory]:
    """Make consumers with their fake components; close them at the end."""
    made: list[KafkaConsumer] = []

    def make_one(*topics: str, **settings: Any) -> tuple[KafkaConsumer, FakeParts]:
        fakes = FakeParts(**{"group_id": "g", "auto_offset_reset": "earliest", **settings})
        monkeypatch.setattr(kafka_consumer, "assemble", lambda _: fakes.parts())
        consumer = KafkaConsumer(*topics, **settings)
        consumer.config = fakes.config
        made.append(consumer)
        return consumer, fakes

    yield make_one
    for consumer in made:
        consumer.close(autocommit=False)
