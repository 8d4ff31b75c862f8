"""The reading commands with brokers that require authentication."""

import json
from pathlib import Path

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.bootstrap_only import commit_offsets, write_records
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.secure_broker import PASSWORD, SCRAM_USER
from tests.support.traffic import write
from tests.support.zk_tree import ZkTree, offset_path
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition

pytestmark = pytest.mark.sandbox


def test_lag_and_offsets_over_sasl_and_tls(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Leaders are asked at the given listener, not at the one that ZooKeeper names."""
    broker = secure_broker_of("3.9.1")
    topic, group = fresh_name("secure"), fresh_name("secure")
    broker.sandbox.create_topic(topic)
    tp = TopicPartition(topic, 0)
    write(broker.sandbox, tp, [b"v"] * 9)
    ZkTree(broker.sandbox).put(offset_path(group, tp), b"7")
    at = broker.at("SASL_SSL")
    settings = tmp_path / "security.properties"

    def run(*words: str, password: str = PASSWORD) -> int:
        settings.write_text(
            "security.protocol=SASL_SSL\n"
            f"ssl.cafile={certificates.authority}\n"
            "sasl.mechanism=SCRAM-SHA-256\n"
            f"sasl.plain.username={SCRAM_USER}\nsasl.plain.password={password}\n",
            encoding="utf-8",
        )
        brokers = ("--bootstrap-servers", f"{at.host}:{at.port}")
        return main([*words, *brokers, "--command-config", str(settings), "--json"])

    zookeeper = ("--zookeeper", broker.sandbox.zookeeper_connect)
    assert run("lag", *zookeeper, "--group", group, "--max-lag", "1") == 3
    [row] = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
    assert (row["offset"], row["log_end"], row["lag"]) == (7, 9, 2)
    assert row["seconds"] < 60
    assert run("get-offset", "--topic", topic) == 0
    assert json.loads(capsys.readouterr().out)["partitions"][0]["offsets"] == [9]
    assert run("get-offset", "--topic", topic, password="wrong") == 1
    message = capsys.readouterr().err
    assert "SCRAM-SHA-256" in message
    assert "wrong" not in message


def test_a_group_of_a_secured_cluster(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """TLS and SCRAM are enough; the ZooKeeper, which is closed to users, is not needed."""
    broker = secure_broker_of("3.9.1")
    topic, group = fresh_name("secure"), fresh_name("secure")
    broker.sandbox.create_topic(topic)
    write_records(broker.sandbox, topic, (9,))
    commit_offsets(broker.sandbox, group, {TopicPartition(topic, 0): 7})
    at = broker.at("SASL_SSL")
    settings = tmp_path / "security.properties"
    settings.write_text(
        "security.protocol=SASL_SSL\n"
        f"ssl.cafile={certificates.authority}\n"
        "sasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.plain.username={SCRAM_USER}\nsasl.plain.password={PASSWORD}\n",
        encoding="utf-8",
    )
    words = ("--bootstrap-server", f"{at.host}:{at.port}", "--command-config", str(settings))
    assert main(["lag", *words, "--group", group, "--max-lag", "1", "--format", "json"]) == 3
    [row] = json.loads(capsys.readouterr().out)["groups"][0]["partitions"]
    assert (row["offset"], row["log_end"], row["lag"]) == (7, 9, 2)
    assert main(["topics", *words, "describe", "--topic", topic]) == 0
