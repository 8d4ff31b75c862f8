"""One node of Kafka 4: it starts, runs its own tools, and ends with its context."""

import pytest

from tests.support.kraft_topics import create_topic
from tests.support.negotiating import TIMEOUT_MS, negotiate
from zkconsumer.errors import SandboxError
from zkconsumer.net.tcp import TcpConnector
from zkconsumer.sandbox.kraft import KraftNode
from zkconsumer.wire.api import ApiKey
from zkconsumer.wire.versions import VersionRange

TOOLS = "org.apache.kafka.tools"


@pytest.mark.sandbox
def test_what_is_written_is_read(kraft: KraftNode) -> None:
    """Kafka's own producer writes, and its own consumer reads."""
    create_topic(kraft, "sandbox-kraft", partitions=2)
    with pytest.raises(SandboxError, match="was not created: TOPIC_ALREADY_EXISTS"):
        create_topic(kraft, "sandbox-kraft")
    at = ("--bootstrap-server", kraft.bootstrap_servers, "--topic", "sandbox-kraft")
    kraft.run_tool(f"{TOOLS}.ConsoleProducer", *at, stdin=b"one\ntwo\n")
    limits = ("--from-beginning", "--max-messages", "2", "--timeout-ms", "30000")
    read = kraft.run_tool(f"{TOOLS}.consumer.ConsoleConsumer", *at, *limits)
    assert sorted(read.lines) == ["one", "two"]


@pytest.mark.sandbox
def test_it_reports_which_old_versions_it_dropped(kraft: KraftNode) -> None:
    """Kafka 4 has minimum versions (KIP-896), and the remaining ones are enough for a consumer."""
    host, _, port = kraft.bootstrap_servers.partition(":")
    found, requested = negotiate(
        lambda: TcpConnector().connect(host, int(port), timeout_ms=TIMEOUT_MS)
    )
    assert len(requested) == 1
    assert found.common[ApiKey.FETCH] == VersionRange(4, 13)
    assert found.common[ApiKey.LIST_OFFSETS] == VersionRange(1, 7)
    assert found.common[ApiKey.OFFSET_COMMIT] == VersionRange(2, 8)
    assert found.common[ApiKey.OFFSET_FETCH] == VersionRange(1, 7)


def test_a_node_that_does_not_run_starts_no_tool() -> None:
    """The error says how to start one."""
    with pytest.raises(SandboxError, match="with statement"):
        KraftNode().start_tool(f"{TOOLS}.TopicCommand")
