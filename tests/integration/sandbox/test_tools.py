"""The original's own tools, on a real 0.8.2.2 broker."""

from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from zkconsumer.errors import SandboxError
from zkconsumer.sandbox import Sandbox, ScalaTool

pytestmark = pytest.mark.sandbox

CONSUMER = "kafka.tools.ConsoleConsumer"


def produce(cluster: Sandbox, topic: str, *lines: str) -> None:
    """Write lines with the original's console producer."""
    result = cluster.run_scala_tool(
        "kafka.tools.ConsoleProducer",
        *("--broker-list", cluster.bootstrap_servers, "--topic", topic),
        # Its default, 0, does not wait: a broker that is killed then may not have the line yet.
        *("--request-required-acks", "1"),
        stdin="".join(f"{line}\n" for line in lines).encode(),
    )
    assert result.status == 0, result.errors


def consume(cluster: Sandbox, topic: str, *arguments: str) -> ScalaTool:
    """Start the original's console consumer at the beginning of a topic."""
    return cluster.scala_tool(
        CONSUMER,
        *("--zookeeper", cluster.zookeeper_connect, "--topic", topic, "--from-beginning"),
        *arguments,
    )


def test_a_tools_input_and_output_are_redirected(cluster: Sandbox) -> None:
    """Standard output has its lines without any logging."""
    topic = fresh_name("topic")
    cluster.create_topic(topic)
    produce(cluster, topic, "one", "two", "three")
    result = consume(cluster, topic, "--max-messages", "3").wait()
    assert result.status == 0
    assert result.lines == ["one", "two", "three"]
    assert "Consumed 3 messages" in result.errors


def test_the_output_of_a_running_tool_is_read_and_the_tool_stopped(cluster: Sandbox) -> None:
    """Its lines are available while it runs; SIGTERM ends it cleanly."""
    topic = fresh_name("topic")
    cluster.create_topic(topic)
    produce(cluster, topic, "a", "b")
    with consume(cluster, topic) as tool:
        assert tool.wait_for_line(lambda line: line == "b") == "b"
        assert tool.lines == ["a", "b"]
        assert tool.poll() is None
        with pytest.raises(SandboxError, match="did not print the end within 100 ms"):
            tool.wait_for_line(lambda line: line == "c", timeout_ms=100, what="the end")
        assert tool.stop()
        assert tool.poll() is not None
        with pytest.raises(SandboxError, match="ended without a line"):
            tool.wait_for_line(lambda line: line == "c")


def test_a_tool_that_takes_too_long_is_killed(cluster: Sandbox) -> None:
    """The error names the tool and the timeout."""
    topic = fresh_name("topic")
    cluster.create_topic(topic)
    with pytest.raises(SandboxError, match=f"{CONSUMER} still runs after 1 ms"):
        cluster.run_scala_tool(
            CONSUMER,
            *("--zookeeper", cluster.zookeeper_connect, "--topic", topic),
            timeout_ms=1,
        )


def test_a_missing_tool_ends_with_the_reason(cluster: Sandbox) -> None:
    """Java itself prints that there is no such class."""
    result = cluster.run_scala_tool("kafka.tools.NoSuchTool")
    assert result.status == 1
    assert "NoSuchTool" in result.errors


def test_messages_survive_a_crash_of_their_broker(tmp_path: Path) -> None:
    """A broker that was killed comes back with its log."""
    with Sandbox(brokers=1, work_dir=tmp_path / "kept") as sandbox:
        sandbox.create_topic("t")
        produce(sandbox, "t", "before")
        sandbox.kill_broker(0)
        sandbox.start_broker(0)
        produce(sandbox, "t", "after")
        assert consume(sandbox, "t", "--max-messages", "2").wait().lines == ["before", "after"]
    assert (tmp_path / "kept" / "broker-0" / "log").exists()
