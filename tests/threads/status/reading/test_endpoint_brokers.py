"""The broker whose metrics an endpoint serves."""

import pytest

from zkconsumer.clock import SystemClock
from zkconsumer.model import Broker
from zkconsumer.status.model import BrokerStatus
from zkconsumer.status.reading.endpoint_brokers import Endpoint, brokers_of

UNKNOWN = "no-such-host.invalid"


def owner(endpoint: Endpoint, *brokers: tuple[str, int | None]) -> int | None:
    """Return the broker of an endpoint, among brokers with these hosts and JMX ports."""
    registered = [
        BrokerStatus(broker=Broker(number, host, 9092), seen_ms=0, jmx_port=port)
        for number, (host, port) in enumerate(brokers)
    ]
    found = brokers_of([endpoint], registered, timeout_ms=5_000, clock=SystemClock())
    return found.get(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "brokers", "expected"),
    [
        (Endpoint("127.0.0.2"), [("127.0.0.1", None), ("127.0.0.2", None)], 1),
        (Endpoint("localhost"), [("127.0.0.2", None), ("127.0.0.1", None)], 1),
        (Endpoint("127.0.0.1"), [("localhost", None), ("127.0.0.2", None)], 0),
        (Endpoint("LOCALHOST."), [("localhost", None)], 0),
        (Endpoint("0:0::1"), [("::1", None)], 0),
        (Endpoint(UNKNOWN.upper()), [(UNKNOWN, None)], 0),
        (Endpoint("127.0.0.9"), [("127.0.0.1", None)], None),
        (Endpoint(UNKNOWN), [("127.0.0.1", None)], None),
        (Endpoint(""), [("", None)], None),
        # Two brokers at one host: the registered JMX port decides.
        (Endpoint("127.0.0.1"), [("127.0.0.1", 1), ("localhost", 2)], None),
        (Endpoint("127.0.0.1", 2), [("127.0.0.1", 1), ("localhost", 2)], 1),
        (Endpoint("127.0.0.1", 3), [("127.0.0.1", 1), ("localhost", 2)], None),
        (Endpoint("127.0.0.1", 2), [("127.0.0.1", 2), ("localhost", 2)], None),
        (Endpoint("127.0.0.1", 3), [("127.0.0.1", None)], 0),
        # Another Java process of that host.
        (Endpoint("127.0.0.1", 3), [("127.0.0.1", 1)], None),
    ],
)
def test_an_endpoint_belongs_to_the_one_broker_at_its_host(
    endpoint: Endpoint, brokers: list[tuple[str, int | None]], expected: int | None
) -> None:
    """The host may be a name or an address; if it is ambiguous, it belongs to no broker."""
    assert owner(endpoint, *brokers) == expected
