"""The cluster in containers behaves as the sandbox's: the same test runs on both."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clusters import fresh_name
from zkconsumer.model import Broker, TopicPartition
from zkconsumer.sandbox import Sandbox
from zkconsumer.sandbox.broker_probe import leads, request_view
from zkconsumer.sandbox.topics import TopicAdmin, spread
from zkconsumer.sandbox.versions import kafka_version
from zkconsumer.sandbox.zookeeper_client import ZooKeeperClient

COMPOSE = Path(__file__).parents[2] / "docker"
PUBLISHED = ("127.0.0.1:2181/kafka", "127.0.0.1:9092,127.0.0.1:9093,127.0.0.1:9094")

Addresses = tuple[str, str]
"""The connect string and the broker list."""


def skip_without_engine() -> None:
    """Skip the test, with the reason, where no container engine answers."""
    try:
        subprocess.run(["docker", "info"], check=True, capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        pytest.skip("no container engine: there is no docker command")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no container engine answers: {error.stderr.strip()}")
    except subprocess.TimeoutExpired:
        pytest.skip("no container engine answers: docker info took more than 20 s")


@pytest.fixture(scope="module")
def composed() -> Iterator[Addresses]:
    """Build and start the cluster of the compose file."""
    skip_without_engine()
    from testcontainers.compose import DockerCompose  # noqa: PLC0415 - slow to import

    with DockerCompose(COMPOSE, compose_file_name="compose.yaml", build=True):
        yield PUBLISHED


@pytest.fixture(
    params=[
        pytest.param("sandbox", marks=pytest.mark.sandbox),
        pytest.param("docker", marks=pytest.mark.docker),
    ]
)
def addresses(request: pytest.FixtureRequest) -> Addresses:
    """Return the addresses of the sandbox's or the containers' cluster."""
    if request.param == "docker":
        found: Addresses = request.getfixturevalue("composed")
        return found
    sandbox: Sandbox = request.getfixturevalue("cluster3")
    return sandbox.zookeeper_connect, sandbox.bootstrap_servers


@pytest.mark.timeout(1800)  # the first build of the image downloads
def test_a_topic_is_created_on_three_brokers(addresses: Addresses) -> None:
    """All three are registered and know each other, and each leads a partition of a new topic."""
    connect, broker_list = addresses
    server, _, chroot = connect.partition("/")
    host, _, port = server.partition(":")
    brokers = [
        Broker(number, "127.0.0.1", int(text.rpartition(":")[2]))
        for number, text in enumerate(broker_list.split(","))
    ]
    with ZooKeeperClient(host, int(port)) as client:
        assert client.children(f"/{chroot}/brokers/ids") == ["0", "1", "2"]
    topics = TopicAdmin(
        kafka_version("0.8.2.2"),
        f"/{chroot}",
        connect=lambda: ZooKeeperClient(host, int(port)),
        live_brokers=lambda: brokers,
        timeout_ms=30_000,
    )
    topic = fresh_name("topic")
    topics.create(topic, spread(range(3), [0, 1, 2], 3), {})
    for broker in brokers:
        known = request_view(broker)
        assert known is not None
        assert set(known.leaders.values()) == {0, 1, 2}
        assert leads(broker, TopicPartition(topic, broker.id))
