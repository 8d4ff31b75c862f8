"""Which of a broker's listeners has a security protocol, in registrations of all versions."""

import pytest

from zkconsumer.model import Broker
from zkconsumer.net.security import PROTOCOLS, SecurityProtocol
from zkconsumer.zk.json_dialect import JsonObject, Malformed, parse_object
from zkconsumer.zk.nodes import listener_address, parse_broker

REGISTRATIONS = {
    "1, as of 0.8.2": (
        b'{"jmx_port":-1,"timestamp":"1795227855791","host":"h1","version":1,"port":9092}',
        {"PLAINTEXT": ("h1", 9092)},
    ),
    "2, as of 0.9": (
        b'{"jmx_port":-1,"timestamp":"1","endpoints":["PLAINTEXT://h1:9092","SSL://h2:9093"],'
        b'"host":"h1","version":2,"port":9092}',
        {"PLAINTEXT": ("h1", 9092), "SSL": ("h2", 9093)},
    ),
    "3, as of 0.10, without a plain listener": (
        b'{"jmx_port":-1,"timestamp":"1","endpoints":["SASL_SSL://h1:9094",'
        b'"SASL_PLAINTEXT://h1:9095"],"rack":"r1","host":null,"version":3,"port":-1}',
        {"SASL_SSL": ("h1", 9094), "SASL_PLAINTEXT": ("h1", 9095)},
    ),
    "4, with names that mean nothing, two of one protocol": (
        b'{"listener_security_protocol_map":{"CLIENTS":"SASL_SSL","SSL":"SASL_SSL",'
        b'"INSIDE":"PLAINTEXT","ONCE":"SSL"},"endpoints":["INSIDE://i:9092","CLIENTS://c:9093",'
        b'"SSL://s:9094"],"jmx_port":-1,"host":null,"timestamp":"1","port":-1,"version":4}',
        {"PLAINTEXT": ("i", 9092), "SASL_SSL": ("c", 9093)},
    ),
    "4, whose listener named PLAINTEXT is counted as such": (
        b'{"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","SSL":"SSL"},'
        b'"endpoints":["SSL://[2001:db8::1]:9093","PLAINTEXT://h1:9092"],"jmx_port":-1,'
        b'"host":"h1","timestamp":"1","port":9092,"version":4}',
        {"PLAINTEXT": ("h1", 9092), "SSL": ("2001:db8::1", 9093)},
    ),
    "5, as of 3.9": (
        b'{"features":{},"listener_security_protocol_map":{"SASL_SSL":"SASL_SSL"},'
        b'"endpoints":["SASL_SSL://h1:9092"],"jmx_port":-1,"port":-1,"host":null,'
        b'"version":5,"timestamp":"1"}',
        {"SASL_SSL": ("h1", 9092)},
    ),
}


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("version", REGISTRATIONS)
def test_the_first_listener_of_the_protocol_is_used(
    version: str, protocol: SecurityProtocol
) -> None:
    """The first listener of the protocol is used, by its scheme or by the map of names, or none."""
    data, addresses = REGISTRATIONS[version]
    parsed = parse_object(data)
    assert isinstance(parsed, JsonObject)
    expected = addresses.get(protocol)
    assert listener_address(parsed.fields, protocol) == expected
    found = parse_broker(3, data, protocol)
    if expected is None:
        assert isinstance(found, Malformed)
        assert protocol in found.reason
        assert "broker 3" in found.reason
        assert "security.protocol" in found.reason
    else:
        assert found == Broker(3, *expected)


@pytest.mark.parametrize(
    "endpoints",
    [
        b"[]",
        b'[7,null,"x",["SSL://h:1"]]',
        b'["SSL://:1","SSL://h:0","SSL://h:70000"]',
        b"{}",
        b"7",
    ],
)
def test_invalid_endpoints_are_ignored(endpoints: bytes) -> None:
    """What is no valid address among a broker's endpoints is ignored."""
    data = b'{"version":2,"host":null,"port":-1,"endpoints":' + endpoints + b"}"
    for protocol in PROTOCOLS:
        assert isinstance(parse_broker(1, data, protocol), Malformed)
    sound = data.replace(b'"endpoints":[', b'"endpoints":["SSL://good:9093",').replace(b",]", b"]")
    if sound != data:
        assert parse_broker(1, sound, "SSL") == Broker(1, "good", 9093)


def test_host_and_port_are_those_of_the_plaintext_listener() -> None:
    """Host and port of a registration without endpoints are those of a plaintext listener."""
    data = b'{"version":1,"host":"h","port":9092}'
    reason = parse_broker(1, data, "SSL")
    assert isinstance(reason, Malformed)
    assert "older than 0.9" in reason.reason
