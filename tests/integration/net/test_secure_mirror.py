"""A mirror into a cluster with TLS and SASL, configured by a file; and its proof."""

import json
from pathlib import Path

import pytest

from tests.integration.net.conftest import SecureBrokerOf
from tests.support.certificates import Certificates
from tests.support.clusters import fresh_name
from tests.support.mirrors import numbered, write_all
from tests.support.secure_broker import PASSWORD, SCRAM_USER
from zkconsumer.cli.main import main
from zkconsumer.model import TopicPartition
from zkconsumer.sandbox import Sandbox

pytestmark = pytest.mark.sandbox


def test_a_target_that_requires_authentication(
    cluster: Sandbox,
    secure_broker_of: SecureBrokerOf,
    certificates: Certificates,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """--target-config is for mirror and proof; with a wrong password nothing is written."""
    topic, group = fresh_name("secured"), fresh_name("group")
    tp = TopicPartition(topic, 0)
    cluster.create_topic(topic)
    write_all(cluster.brokers, {tp: numbered(tp, 300)})
    target = secure_broker_of("3.9.1").at("SASL_SSL")
    config = tmp_path / "target.properties"
    text = (
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f"ssl.cafile={certificates.authority}\nsasl.plain.username={SCRAM_USER}\n"
        f"sasl.plain.password={PASSWORD}\n"
    )
    common = (
        *("--zookeeper", cluster.zookeeper_connect, "--group", group, "--json"),
        *("--offsets-file", str(tmp_path / "offsets"), "--target-config", str(config)),
        *("--target-bootstrap-servers", f"{target.host}:{target.port}"),
    )
    mirror = ("mirror", *common, "--whitelist", topic, "--create-topics", "--stop-at-end")
    config.write_text(text.replace(PASSWORD, "wrong"))
    assert main(mirror) == 1
    assert "wrong" not in (reported := capsys.readouterr().err)
    assert "SCRAM" in reported or "assword" in reported
    config.write_text(text)
    assert main(mirror) == 0
    end = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (end["ended"], end["acknowledged"]) == (True, 300)
    assert main(("mirror", "verify", *common)) == 0
    proof = json.loads(capsys.readouterr().out)
    assert proof["proven"]
    assert proof["partitions"][0]["mirrored"] == 300
