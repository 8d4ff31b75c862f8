"""``zkconsumer offsets migrate`` with brokers that require authentication."""

from pathlib import Path

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.secure_broker import PASSWORD, SCRAM_USER
from tests.support.zk_tree import ZkTree
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition

pytestmark = pytest.mark.sandbox


def test_offsets_are_migrated_over_sasl_and_tls(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Flags have the brokers and a file of settings; a wrong password is one clear error."""
    broker = secure_broker_of("3.9.1")
    topic, group = fresh_name("secure"), fresh_name("secure")
    broker.sandbox.create_topic(topic)
    ZkTree(broker.sandbox).put(f"/consumers/{group}/offsets/{topic}/0", b"7")
    at = broker.at("SASL_SSL")
    monkeypatch.chdir(tmp_path)

    def migrate(password: str) -> int:
        Path("security.properties").write_text(
            "security.protocol=SASL_SSL\n"
            f"ssl.cafile={certificates.authority}\n"
            "sasl.mechanism=SCRAM-SHA-256\n"
            f"sasl.plain.username={SCRAM_USER}\nsasl.plain.password={password}\n",
            encoding="utf-8",
        )
        where = ("--zookeeper", broker.sandbox.zookeeper_connect, "--group", group)
        brokers = ("--bootstrap-servers", f"{at.host}:{at.port}")
        how = ("--command-config", "security.properties", "--wait-ms", "0")
        places = ("--from", "zookeeper", "--to", "kafka")
        return main(["offsets", "migrate", *where, *brokers, *how, *places])

    assert migrate("wrong") == 1
    message = capsys.readouterr().err
    assert "SCRAM-SHA-256 as 'al,ice=1' failed" in message, message
    assert "wrong" not in message
    assert migrate(PASSWORD) == 0
    assert KafkaOffsets(broker.sandbox, group).offset(TopicPartition(topic, 0)) == 7
