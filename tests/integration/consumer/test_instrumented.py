"""Instrumentation written for kafka-python works unchanged on our consumer."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.support import warm
from tests.support.clusters import BrokerOf, fresh_name

pytestmark = pytest.mark.sandbox
COUNT = 25
VALUES = [str(number) for number in range(COUNT)]


def run_program(address: str, topic: str, how: str) -> tuple[list[str], list[Any], list[Any]]:
    """Run the program; return the values it read, and its producer and consumer spans."""
    arguments = ["-m", "tests.support.traced_program", address, topic, str(COUNT), how]
    done = warm.run(
        [sys.executable, *arguments], stdout=subprocess.PIPE, text=True, timeout=120, check=True
    )
    reported = json.loads(done.stdout)
    kinds = ("PRODUCER", "CONSUMER")
    produced, consumed = (
        [span for span in reported["spans"] if span["kind"] == kind] for kind in kinds
    )
    return reported["values"], produced, consumed


@pytest.mark.parametrize("version", ["0.11.0.3", "3.9.1"])
@pytest.mark.parametrize("how", ["for", "next"])
def test_every_record_has_its_span(broker_of: BrokerOf, version: str, how: str) -> None:
    """The span is in the trace of its producer, which the record's headers name."""
    broker = broker_of(version)
    topic = fresh_name("traced")
    broker.create_topic(topic, partitions=1)
    address = broker.bootstrap_servers
    values, produced, consumed = run_program(address, topic, how)
    assert values == VALUES
    assert len(produced) == len(consumed) == COUNT
    for sent, received in zip(produced, consumed, strict=True):
        assert received["name"] == f"{topic} receive"
        assert (received["parent"], received["trace"]) == (sent["id"], sent["trace"])
        assert received["attributes"]["messaging.destination"] == topic
        assert received["attributes"]["messaging.kafka.partition"] == 0
        assert address in received["attributes"]["messaging.url"]


def test_removed_instrumentation_leaves_nothing_behind(broker_of: BrokerOf) -> None:
    """All records come, without consumer spans."""
    broker = broker_of("3.9.1")
    topic = fresh_name("untraced")
    broker.create_topic(topic, partitions=1)
    values, produced, consumed = run_program(broker.bootstrap_servers, topic, "untraced")
    assert values == VALUES
    assert (len(produced), consumed) == (COUNT, [])
