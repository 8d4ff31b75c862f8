"""A program for kafka-python does with ours what it does with kafka-python."""

import sys

import pytest

from tests.alike.comparison import compare
from tests.alike.differences import BY_DECISION
from zkconsumer.sandbox import Sandbox

LEAST_CASES, LEAST_SHARE = 150, 0.95
SHORT_SESSIONS = {"group.min.session.timeout.ms": "500"}


@pytest.mark.sandbox
@pytest.mark.long
@pytest.mark.timeout(400)
def test_what_a_program_sees_is_what_kafka_python_shows() -> None:
    """In nearly all of the cases; where not, that is decided, and documented."""
    with Sandbox(
        kafka="2.8.2", brokers=1, auto_create_topics=True, broker_properties=SHORT_SESSIONS
    ) as broker:
        found = compare(broker.bootstrap_servers)
    sys.stdout.write(found.report())
    assert len(found.outcomes) >= LEAST_CASES
    assert found.share_alike >= LEAST_SHARE
    assert sorted(found.different.keys() - BY_DECISION) == []
    assert sorted(BY_DECISION - found.different.keys()) == []
