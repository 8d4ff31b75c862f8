"""A metrics server, and the metrics of consumers."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.support.control_bench import ControlledMember, Group
from tests.support.memory_connector import MemoryConnector
from tests.support.metered import read_exposition, samples_of, value
from zkconsumer.clock import SystemClock
from zkconsumer.consumer.config import PollConfig
from zkconsumer.errors import ConfigError, ConsumerClosed
from zkconsumer.metrics.consumer import ConsumerMetrics, MetricsServer, start_metrics_server
from zkconsumer.metrics.families import Family, Sample


class PollConsumerDouble:
    """A poll consumer with given metrics."""

    def __init__(self) -> None:
        self.config = PollConfig({"group.id": "gg", "client.id": "gg", "bootstrap.servers": "b:1"})
        self.is_open = True

    def metrics(self) -> dict[str, dict[str, float]]:
        """See ``KafkaConsumer``."""
        if not self.is_open:
            raise ConsumerClosed("closed")
        return {"consumer-fetch-manager-metrics": {"records-consumed-total": 3}}


def fetch(port: int) -> bytes:
    """Fetch the page of metrics."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        found: bytes = response.read()
    return found


def one_family() -> Iterator[Family]:
    """Yield one family of metrics."""
    yield Family(name="a", text="A.", labels=(), samples=[Sample((), 1)])


def test_consumers_of_both_kinds_have_metrics_until_they_are_closed() -> None:
    """Closing one removes its own metrics only, even if another's name starts alike."""
    group = Group(time=SystemClock())
    poll = PollConsumerDouble()
    metrics = ConsumerMetrics(poll)
    with MemoryConnector(ControlledMember(group, "a")) as connector:
        metrics.add(connector)
        connector.create_message_streams({"t": 1})
        seen = samples_of(metrics.families())
        owned = {"group": "g", "client_id": "g", "topic": "t"}
        assert value(seen, "zkconsumer_owned_partitions", **owned) == 2
        messages = {"group": "gg", "client_id": "gg", "topic": ""}
        assert value(seen, "zkconsumer_messages_total", **messages) == 3
        poll.is_open = False
        seen = samples_of(metrics.families())
        assert "zkconsumer_messages_total" not in seen
        assert value(seen, "zkconsumer_owned_partitions", **owned) == 2
    assert not any(samples_of(metrics.families()).values())


def test_a_server_serves_until_it_is_closed() -> None:
    """Closing it twice does no harm; then its port refuses connections."""
    with MemoryConnector(ControlledMember(Group(time=SystemClock()), "a")) as connector:
        connector.create_message_streams({"t": 1})
        with start_metrics_server(0, connector) as server:
            found = read_exposition(fetch(server.port))
            assert value(found, "zkconsumer_max_lag", group="g", client_id="g") == 0
        server.close()
        with pytest.raises(urllib.error.URLError):
            fetch(server.port)


def test_a_silent_client_does_not_delay_closing() -> None:
    """Nor does it delay the requests of other clients."""
    with (
        MetricsServer(0, one_family) as server,
        socket.create_connection(("127.0.0.1", server.port)) as idle,
    ):
        assert b"a 1.0" in fetch(server.port)
        server.close()
        idle.settimeout(1)


@pytest.mark.parametrize("port", [70_000, "taken"])
def test_an_unusable_port_is_an_error_of_one_line(port: int | str) -> None:
    """The error says what to do."""
    with MetricsServer(0, one_family) as server, pytest.raises(ConfigError) as caught:
        MetricsServer(server.port if port == "taken" else 70_000, one_family)
    text = str(caught.value)
    assert text.startswith("metrics can't be served at 127.0.0.1:")
    assert text.endswith("; choose another port")
    assert "\n" not in text
