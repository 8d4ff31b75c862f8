"""Creates topics on a KRaft node."""

from typing import Final

from tests.support.waiting import wait_until
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import SandboxError
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox.broker_probe import request_view, response_to
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.wire.messages.topic_admin import CreateTopicsRequest, NewTopic

_CREATE_TOPICS: Final = 2
"""The first version of CreateTopics that Kafka 4 serves."""
_LIMIT_MS: Final = 60_000


def create_topic(kraft: KraftNode, name: str, partitions: int = 1) -> None:
    """Create a topic; return when all its partitions have a leader.

    Raises:
        SandboxError: the topic can't be created; the message says why.
    """
    host, _, port = kraft.bootstrap_servers.partition(":")
    node = Broker(1, host, int(port))
    topic = NewTopic(name=name, num_partitions=partitions, replication_factor=1)
    request = CreateTopicsRequest(topics=(topic,), timeout_ms=_LIMIT_MS)
    response = response_to(request, node, _LIMIT_MS, version=_CREATE_TOPICS)
    code = ErrorCode.UNKNOWN if response is None else response.topics[0].error_code
    if code:
        raise SandboxError(f"topic {name} was not created: {explained(code)}")
    wanted = {TopicPartition(name, number) for number in range(partitions)}

    def led() -> bool:
        knowledge = request_view(node)
        return knowledge is not None and wanted <= knowledge.leaders.keys()

    wait_until(led, timeout_s=_LIMIT_MS / 1000, what=f"a leader of topic {name}")
