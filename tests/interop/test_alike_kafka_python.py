"""A program for kafka-python behaves the same with our consumer."""

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
def test_a_program_behaves_as_with_kafka_python() -> None:
    """This holds for nearly all cases; the exceptions are decided and documented."""
    with Sandbox(
        kafka="2.8.2", brokers=1, auto_create_topics=True, broker_properties=SHORT_SESSIONS
    ) as broker:
        found = compare(broker.bootstrap_servers)
    sys.stdout.write(found.report())
    assert len(found.outcomes) >= LEAST_CASES
    assert found.share_alike >= LEAST_SHARE
    assert sorted(found.different.keys() - BY_DECISION) == []
    assert sorted(BY_DECISION - found.different.keys()) == []
