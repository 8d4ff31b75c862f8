"""Old requests that real brokers have counted, read over JMX or from their request log."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from tests.support.request_logging import RequestLogging
from tests.support.waiting import wait_until
from zkconsumer.cli.main import main
from zkconsumer.model import Broker
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.certificates import make_certificates
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.sandbox.secured import STORE_PASSWORD
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

pytestmark = pytest.mark.sandbox
TIMEOUT_MS = 10_000


class OpenedJmx(NamedTuple):
    """A broker with JMX open, its JMX address, and the flags that it requires."""

    cluster: Sandbox
    address: str
    flags: tuple[str, ...] = ()


def secured(folder: Path) -> tuple[list[str], tuple[str, ...]]:
    """Return the options of an agent with a password and TLS, and our flags for it."""
    made = make_certificates(folder)
    texts = {
        "password": "me hidden\n",
        "access": "me readonly\n",
        "ssl": f"javax.net.ssl.keyStore={made.broker_keys}\n"
        f"javax.net.ssl.keyStorePassword={STORE_PASSWORD}\n",
        "ours": "user=me\npassword=hidden\nssl=true\n"
        f"javax.net.ssl.trustStore={made.broker_trust}\n"
        f"javax.net.ssl.trustStorePassword={STORE_PASSWORD}\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    for name in ("password", "ssl"):  # the JVM insists
        (folder / name).chmod(0o600)
    options = [
        *(f"jmxremote.{name}=true" for name in ("authenticate", "ssl", "registry.ssl")),
        *(f"jmxremote.{name}.file={folder}/{name}" for name in ("password", "access")),
        f"jmxremote.ssl.config.file={folder}/ssl",
    ]
    return options, ("--jmx-config", f"{folder}/ours")


@pytest.fixture(params=["2.8.2", "3.9.1"])
def opened(
    broker_of: BrokerOf, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[OpenedJmx]:
    """Open a running broker's JMX; 3.9.1's with a password and TLS."""
    cluster = broker_of(request.param)
    port = pick_free(set())
    jcmd = shutil.which("jcmd")
    assert jcmd is not None, "a JDK reads JMX"

    def agent(*words: str) -> None:
        command = [jcmd, str(cluster.broker_pid(0)), *words]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)

    options = [f"jmxremote.{name}=false" for name in ("authenticate", "ssl")]
    flags: tuple[str, ...] = ()
    if request.param == "3.9.1":
        options, flags = secured(tmp_path)
    options += [f"jmxremote.{name}={port}" for name in ("port", "rmi.port")]
    agent("ManagementAgent.start", *options, "jmxremote.host=127.0.0.1")
    yield OpenedJmx(cluster, f"127.0.0.1:{port}", flags)
    agent("ManagementAgent.stop")


def test_an_old_client_is_found_by_jmx(
    opened: OpenedJmx, capsys: pytest.CaptureFixture[str]
) -> None:
    """The finding names the request and version; a broker without JMX is reported."""
    cluster, address, flags = opened
    topic = fresh_name("old")
    cluster.create_topic(topic, partitions=1)
    fetch_as_version(cluster.brokers[0], topic, 2)
    places = ("--jmx", address, "--jmx", "127.0.0.1:1", "--timeout-ms", "30000", *flags)
    zookeeper = ("--zookeeper", cluster.zookeeper_connect)
    assert main(["doctor", *zookeeper, "--ready-for", "4.0", "--json", *places]) == 3
    findings = json.loads(capsys.readouterr().out)["findings"]
    (clients,) = [finding for finding in findings if finding["code"] == "ready-clients"]
    assert clients["severity"] == "error"
    expected = f"JMX at {address}: FetchConsumer version 2, "
    assert any(line.startswith(expected) for line in clients["evidence"])
    assert "JMX at 127.0.0.1:1: ConnectException: Connection refused" in clients["evidence"]


def test_an_old_client_is_found_in_a_request_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """This broker does not count by version; clients with new versions are not named."""
    logging = RequestLogging.into(tmp_path)
    with Sandbox(kafka="1.1.1", broker_jvm_flags=logging.flags) as cluster:
        cluster.create_topic("old", partitions=1)
        for version in (2, 2, 4):
            fetch_as_version(cluster.brokers[0], "old", version, client_id=f"v{version}")
        wait_until(
            lambda: logging.file.read_text().count("apiKey=FETCH") >= 3, what="lines of requests"
        )
        address = ("--zookeeper", cluster.zookeeper_connect, "--request-log", str(logging.file))
        assert main(["doctor", *address, "--ready-for", "4.0", "--json"]) == 3
        assert main(["doctor", *address, "--ready-for", "4.0"]) == 3
    found, _, text = capsys.readouterr().out.partition("\n}\n")
    findings = json.loads(found + "}")["findings"]
    (clients,) = [finding for finding in findings if finding["code"] == "ready-clients"]
    assert clients["severity"] == "error"
    (expected,) = [line for line in clients["evidence"] if "'v2'" in line]
    assert expected == (
        f"{logging.file}: FetchConsumer version 2, 2 times, by client 'v2' at 127.0.0.1"
    )
    assert not any("'v4'" in line for line in clients["evidence"])
    assert "FetchConsumer version 2, 2 times, by client 'v2'" in " ".join(text.split())


@contextmanager
def connected(broker: Broker, client_id: str) -> Iterator[NegotiatedConnection]:
    """Open a connection with a client id."""
    dialer = dialer_of(ClientSettings(client_id=client_id, timeout_ms=TIMEOUT_MS))
    connection = dialer.dial(broker)
    try:
        yield connection
    finally:
        connection.close()
        dialer.stop()


def fetch_as_version(broker: Broker, topic: str, version: int, *, client_id: str = "old") -> None:
    """Send a fetch request as an old client does."""
    wanted = FetchPartition(partition=0, fetch_offset=0, max_bytes=100)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(wanted,)),)
    )
    with connected(broker, client_id) as connection:
        connection.call(request, timeout_ms=TIMEOUT_MS, at_most=version)
