"""Every version of the table starts, and can create topics.

In CI all of them start for ``tests/interop/test_version_matrix.py``; 0.8.2.2 does all of this in
``test_cluster.py``.
"""

import pytest

from tests.support.matrix import in_matrix
from zkconsumer.errors import SandboxError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import VERSIONS, Sandbox
from zkconsumer.sandbox.broker_probe import request_view

pytestmark = pytest.mark.sandbox


@pytest.mark.timeout(300)  # the first run downloads
@in_matrix("kafka", VERSIONS, ["0.8.0", "3.9.1"])
def test_a_version_starts_and_has_its_topics_led(kafka: str) -> None:
    """A topic is created, grown and, from 0.8.1 on, deleted; a killed broker comes back."""
    with Sandbox(kafka=kafka, brokers=2) as sandbox:
        sandbox.create_topic("t", partitions=3, replication=2)
        sandbox.add_partitions("t", 4)
        for broker in sandbox.brokers:
            known = request_view(broker)
            assert known is not None
            leaders = [known.leaders[TopicPartition("t", number)] for number in range(4)]
            assert leaders == [0, 1, 0, 1]
        if VERSIONS[kafka].deletes_topics:
            sandbox.delete_topic("t")
            assert all(
                "t" not in broker_knowledge.topics
                for broker_knowledge in map(request_view, sandbox.brokers)
                if broker_knowledge
            )
        else:
            with pytest.raises(SandboxError, match=f"Kafka {kafka} can't delete topics"):
                sandbox.delete_topic("t")
        sandbox.kill_broker(1)
        sandbox.start_broker(1)
