"""Secured sandboxes: clients use the settings and the files that the sandbox provides."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from tests.support.traffic import write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer import KafkaConsumer
from zkconsumer.cli.main import main
from zkconsumer.errors import AuthenticationFailed, SandboxError
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.sandbox.secured import Security

pytestmark = pytest.mark.sandbox

LONG_MS = 20_000


@dataclass(frozen=True)
class SecuredCluster:
    """A cluster, and Kafka's own tool for it."""

    version: str
    security: Security
    tool: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.security}-{self.version}"


OLD_TOOL = ("kafka.admin.ConsumerGroupCommand", "--new-consumer")
CASES = [
    SecuredCluster("0.9.0.1", "tls", OLD_TOOL),
    SecuredCluster("0.10.2.2", "scram", OLD_TOOL),
    SecuredCluster("2.8.2", "oauth", ("kafka.admin.ConsumerGroupCommand",)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_clients_are_authenticated_with_the_sandboxs_settings(
    case: SecuredCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Our consumer, our commands (at ZooKeeper, too) and Kafka's own tool work; others don't."""
    topic, group = fresh_name("topic"), fresh_name("zookeeper-group")
    tp = TopicPartition(topic, 0)
    port = pick_free(set())
    with Sandbox(
        case.version, security=case.security, zookeeper_security="digest", broker_ports=[port]
    ) as sandbox:
        access = sandbox.access
        assert access.bootstrap_servers == f"localhost:{port}"
        sandbox.create_topic(topic)
        write(sandbox, tp, [b"one", b"two"])
        with member(sandbox, topic) as (consumer, own_group):
            assert [next(consumer).value for _ in range(2)] == [b"one", b"two"]
            assert own_group in run_tool(sandbox, *case.tool, "--list").split()
        ZkTree(sandbox).put(offset_path(group, tp), b"1")
        words = ["lag", "--zookeeper", sandbox.zookeeper_connect, "--group", group, "--json"]
        words += ["--bootstrap-servers", access.bootstrap_servers, "--command-config"]
        assert main([*words, str(access.command_config)]) == 0
        [row] = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
        assert (row["offset"], row["lag"]) == (1, 1)
        _check_strangers(sandbox, words, tmp_path)


@contextlib.contextmanager
def member(sandbox: Sandbox, topic: str) -> Iterator[tuple[KafkaConsumer, str]]:
    """Open a member of a group of its own; yield it and the group."""
    settings, group = sandbox.access.settings, fresh_name("group")
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=sandbox.access.bootstrap_servers,
        group_id=group,
        auto_offset_reset="earliest",
        consumer_timeout_ms=LONG_MS,
        config={
            setting: settings[setting]
            for setting in settings
            if not setting.startswith("zookeeper_")
        },
    )
    with contextlib.closing(consumer):
        yield consumer, group


def _check_strangers(sandbox: Sandbox, words: list[str], folder: Path) -> None:
    """Check that brokers and ZooKeeper refuse wrong or missing credentials."""
    with pytest.raises(AuthenticationFailed):
        KafkaConsumer("any", bootstrap_servers=sandbox.access.bootstrap_servers)
    text = sandbox.access.command_config.read_text()
    password = sandbox.access.settings["zookeeper_auth_password"]
    wrong = folder / "wrong.properties"
    wrong.write_text(text.replace(password, "wrong"))
    assert main([*words, str(wrong)]) == 1


def run_tool(sandbox: Sandbox, tool: str, *arguments: str) -> str:
    """Run one of Kafka's own tools as a client; return its output."""
    access = sandbox.access
    where = ("--bootstrap-server", access.bootstrap_servers)
    config = ("--command-config", str(access.tool_config))
    with sandbox.scala_tool(tool, *arguments, *where, *config, flags=access.jvm_flags) as running:
        result = running.wait(LONG_MS)
    assert result.status == 0, result
    return result.output


def test_an_open_sandbox_has_no_access_settings(cluster: Sandbox) -> None:
    """It has no KDC, either."""
    with pytest.raises(SandboxError, match="not secured"):
        _ = cluster.access
    with pytest.raises(SandboxError, match="no KDC"):
        _ = cluster.kdc
