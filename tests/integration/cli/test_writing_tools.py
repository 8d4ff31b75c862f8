"""``zkconsumer produce`` and ``topics create|alter|delete`` on brokers of each generation."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.kraft import KraftNode

pytestmark = pytest.mark.sandbox

Captured = pytest.CaptureFixture[str]
VERSIONS = ["0.8.2.2", "0.10.2.2", "3.9.1", "4"]


@pytest.fixture(params=VERSIONS)
def address(request: pytest.FixtureRequest) -> list[str]:
    """Return the flags with the address of a cluster; Kafka 4 has no ZooKeeper."""
    if request.param == "4":
        node: KraftNode = request.getfixturevalue("kraft")
        return ["--bootstrap-server", node.bootstrap_servers]
    broker_of: BrokerOf = request.getfixturevalue("broker_of")
    broker: Sandbox = broker_of(request.param)
    return ["--zookeeper", broker.zookeeper_connect]


def described(address: Sequence[str], topic: str, capfd: Captured) -> dict[str, object]:
    """Return a topic as ``topics list`` describes it."""
    assert main(["topics", *address, "list", "--topic", topic, "--json"]) == 0
    (found,) = json.loads(capfd.readouterr().out)["topics"]
    assert isinstance(found, dict)
    return found


def test_topics_are_created_altered_and_deleted(
    address: list[str], capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change is announced first; without a confirmation nothing is done."""
    topic = fresh_name("changed")
    mine = ["topics", *address, "--topic", topic]
    monkeypatch.setattr("sys.stdin", io.StringIO())
    create = [*mine, "create", "--partitions", "2", "--config", "retention.ms=90000000"]
    assert main(create) == 2
    printed = capfd.readouterr()
    assert f"topic {topic} would be created: 2 partitions" in printed.err
    assert "nothing was done" in printed.err
    assert main([*create, "--yes"]) == 0
    assert capfd.readouterr().out == f"topic {topic} created: 2 partitions\n"
    assert main([*create, "--yes"]) == 2
    assert "exists already" in capfd.readouterr().err
    assert main([*mine, "--alter", "--partitions", "2", "--yes"]) == 2
    assert "the number can only be increased" in capfd.readouterr().err
    assert main([*mine, "alter", "--partitions", "3", "--config", "max.message.bytes=2000000",
                 "--delete-config", "retention.ms", "--yes"]) == 0  # fmt: skip
    assert "partitions 2 -> 3" not in capfd.readouterr().out
    wait_until(
        lambda: described(address, topic, capfd)["partition_count"] == 3, what="three partitions"
    )
    found = described(address, topic, capfd)
    if "--zookeeper" in address:
        assert found["config"] == {"max.message.bytes": "2000000"}
    assert main([*mine, "delete", "--yes", "--timeout-ms", "9000"]) == 0
    printed = capfd.readouterr()
    assert printed.out.startswith(
        (f"topic {topic} deleted", f"topic {topic} is marked for deletion")
    )


def test_each_line_is_a_message(
    address: list[str], capfd: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Lines are text with keys, or JSON; a bad line is named, and written messages are counted."""
    topic = fresh_name("lines")
    assert main(["topics", *address, "create", "--topic", topic, "--yes"]) == 0
    mine = ["produce", *address, "--topic", topic]
    capfd.readouterr()
    text = tmp_path / "lines.txt"
    text.write_bytes(b"a:1\nb:2\r\n:\n")
    assert main([*mine, "--key-separator", ":", "--codec", "gzip", str(text)]) == 0
    assert capfd.readouterr().err == "zkconsumer: 3 messages written\n"
    data = io.TextIOWrapper(io.BytesIO(b'{"value": "3", "key": "c"}\n{"value": null}\n{]\n'))
    monkeypatch.setattr("sys.stdin", data)
    assert main([*mine, "--json"]) == 1
    printed = capfd.readouterr().err
    assert "2 messages written" in printed
    assert "line 3 was not written: not JSON" in printed
    assert read(address, topic, 5, capfd) == [
        ("a", "1"), ("b", "2"), ("", ""), ("c", "3"), (None, None)
    ]  # fmt: skip


def read(
    address: Sequence[str], topic: str, count: int, capfd: Captured
) -> list[tuple[str | None, str | None]]:
    """Read keys and values of the first partition with ``replay``."""

    def printed() -> list[tuple[str | None, str | None]]:
        words = ["replay", *address, "--topic", topic]
        assert main([*words, "--output", "json"]) == 0
        lines = map(json.loads, capfd.readouterr().out.splitlines())
        return [(line["key"], line["value"]) for line in lines]

    wait_until(lambda: len(printed()) >= count, what="the messages")
    return printed()


def test_an_error_is_one_line(broker_of: BrokerOf, capfd: Captured) -> None:
    """A missing topic, a missing broker, and wrong arguments each have a status and a reason."""
    broker = broker_of("3.9.1")
    zookeeper = ["--zookeeper", broker.zookeeper_connect]
    cases = [
        (["produce", *zookeeper, "--topic", "absent", "--timeout-ms", "500"], 1, "does not exist"),
        (["produce", "--bootstrap-server", "127.0.0.1:9", "--topic", "t", "--timeout-ms", "500"],
         1, "can't connect"),
        (["produce", "--topic", "t"], 2, "no cluster given"),
        (["topics", *zookeeper, "create", "--topic", "no/name"], 2, "needs the name of one topic"),
        (["topics", *zookeeper, "alter", "--topic", "absent", "--partitions", "2"], 2,
         "there is no topic absent"),
        (["topics", *zookeeper, "delete"], 2, "delete needs the name of one topic: give --topic"),
        (["topics", *zookeeper, "create", "--topic", fresh_name("t"), "--replication-factor", "3",
          "--yes"], 1, "INVALID_REPLICATION_FACTOR"),
    ]  # fmt: skip
    for words, status, reason in cases:
        assert main(words) == status, words
        printed = capfd.readouterr().err.splitlines()
        assert reason in printed[-1], printed
