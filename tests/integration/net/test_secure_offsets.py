"""``zkconsumer offsets set`` and ``replay`` with brokers that require authentication."""

from pathlib import Path

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.kafka_offsets import KafkaOffsets
from tests.support.secure_broker import PASSWORD, SCRAM_USER
from tests.support.traffic import write
from zkconsumer.cli.main import main
from zkconsumer.model import OffsetAndMetadata, TopicPartition

pytestmark = pytest.mark.sandbox


def test_offsets_are_set_and_messages_replayed_over_sasl_and_tls(
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Leaders and the coordinator are connected to at the given listener."""
    broker = secure_broker_of("3.9.1")
    tp, group = TopicPartition(fresh_name("secure"), 0), fresh_name("secure")
    broker.sandbox.create_topic(tp.topic)
    write(broker.sandbox, tp, [b"v%d" % number for number in range(9)])
    offsets = KafkaOffsets(broker.sandbox, group)
    offsets.put({tp: OffsetAndMetadata(7)})
    at = broker.at("SASL_SSL")
    monkeypatch.chdir(tmp_path)
    Path("security.properties").write_text(
        "security.protocol=SASL_SSL\n"
        f"ssl.cafile={certificates.authority}\n"
        "sasl.mechanism=SCRAM-SHA-256\n"
        f"sasl.plain.username={SCRAM_USER}\nsasl.plain.password={PASSWORD}\n",
        encoding="utf-8",
    )
    brokers = ("--bootstrap-servers", f"{at.host}:{at.port}")
    how = (*brokers, "--command-config", "security.properties")
    zookeeper = ("--zookeeper", broker.sandbox.zookeeper_connect)
    assert (
        main(["offsets", "set", *zookeeper, *how, "--group", group, "--shift-by", "-3", "--yes"])
        == 0
    )
    assert offsets.offset(tp) == 4
    capfd.readouterr()
    assert main(["replay", *how, "--topic", tp.topic, "--from-offset", "4"]) == 0
    assert capfd.readouterr().out.split() == ["v4", "v5", "v6", "v7", "v8"]
    assert main(["replay", *brokers, "--topic", tp.topic, "--timeout-ms", "500"]) == 1
