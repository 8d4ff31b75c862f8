"""What real brokers have counted of old requests, read by JMX."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.support.clusters import BrokerOf, fresh_name
from zkconsumer.cli.main import main
from zkconsumer.model import Broker
from zkconsumer.net.client_settings import ClientSettings
from zkconsumer.net.dialling import dialer_of
from zkconsumer.net.negotiated import NegotiatedConnection
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.ports import pick_free
from zkconsumer.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic

pytestmark = pytest.mark.sandbox
TIMEOUT_MS = 10_000


@pytest.fixture(params=["2.8.2", "3.9.1"])
def opened(broker_of: BrokerOf, request: pytest.FixtureRequest) -> Iterator[tuple[Sandbox, str]]:
    """A broker whose JMX is opened while it runs, and where."""
    cluster = broker_of(request.param)
    port = pick_free(set())
    jcmd = shutil.which("jcmd")
    assert jcmd is not None, "a JDK reads JMX"

    def agent(*words: str) -> None:
        command = [jcmd, str(cluster.broker_pid(0)), *words]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)

    options = [f"jmxremote.{one}=false" for one in ("authenticate", "ssl")]
    options += [f"jmxremote.{one}={port}" for one in ("port", "rmi.port")]
    agent("ManagementAgent.start", *options, "jmxremote.host=127.0.0.1")
    yield cluster, f"127.0.0.1:{port}"
    agent("ManagementAgent.stop")


def test_an_old_client_is_found_by_jmx(
    opened: tuple[Sandbox, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """By request and version; a broker without JMX is said."""
    cluster, place = opened
    topic = fresh_name("old")
    cluster.create_topic(topic, partitions=1)
    fetch_as_version(cluster.brokers[0], topic, 2)
    places = ("--jmx", place, "--jmx", "127.0.0.1:1", "--timeout-ms", "30000")
    zookeeper = ("--zookeeper", cluster.zookeeper_connect)
    assert main(["doctor", *zookeeper, "--ready-for", "4.0", "--json", *places]) == 3
    findings = json.loads(capsys.readouterr().out)["findings"]
    (clients,) = [one for one in findings if one["code"] == "ready-clients"]
    assert clients["severity"] == "error"
    told = f"JMX at {place}: FetchConsumer version 2, "
    assert any(line.startswith(told) for line in clients["evidence"])
    assert "JMX at 127.0.0.1:1: ConnectException: Connection refused" in clients["evidence"]


@contextmanager
def connected(broker: Broker) -> Iterator[NegotiatedConnection]:
    """A connection of a client."""
    dialer = dialer_of(ClientSettings(client_id="old", timeout_ms=TIMEOUT_MS))
    connection = dialer.dial(broker)
    try:
        yield connection
    finally:
        connection.close()
        dialer.stop()


def fetch_as_version(broker: Broker, topic: str, version: int) -> None:
    """Ask as an old client does."""
    wanted = FetchPartition(partition=0, fetch_offset=0, max_bytes=100)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(wanted,)),)
    )
    with connected(broker) as connection:
        connection.call(request, timeout_ms=TIMEOUT_MS, at_most=version)
