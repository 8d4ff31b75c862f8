"""What the nodes of brokers, topics, offsets and owners hold, in every version."""

import pytest

from tests.support.zk_tree import malformed
from zkconsumer.model import Broker
from zkconsumer.zk.json_dialect import Malformed
from zkconsumer.zk.nodes import (
    Registration,
    encode_offset,
    parse_broker,
    parse_offset,
    parse_owner,
    parse_topic,
)

# --- Brokers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(
            b'{ "host":"h1", "jmx_port":-1, "port":9092, "timestamp":"1380000000000", '
            b'"version":1 }',
            id="0.8.0",
        ),
        pytest.param(
            b'{"jmx_port":-1,"timestamp":"1795227855791","host":"h1","version":1,"port":9092}',
            id="0.8.2",
        ),
        pytest.param(
            b'{"jmx_port":-1,"timestamp":"1","endpoints":["PLAINTEXT://h1:9092"],"host":"h1",'
            b'"version":2,"port":9092}',
            id="version 2",
        ),
        pytest.param(
            b'{"jmx_port":-1,"timestamp":"1","endpoints":["SSL://h1:9093","PLAINTEXT://h1:9092"],'
            b'"rack":"r1","host":"h1","version":3,"port":9092}',
            id="version 3",
        ),
        pytest.param(
            b'{"listener_security_protocol_map":{"INTERNAL":"PLAINTEXT","EXTERNAL":"SSL"},'
            b'"endpoints":["EXTERNAL://h1:9093","INTERNAL://h1:9092"],"jmx_port":-1,'
            b'"host":null,"timestamp":"1","port":-1,"version":4}',
            id="version 4, no listener named PLAINTEXT",
        ),
        pytest.param(
            b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},'
            b'"endpoints":["PLAINTEXT://h1:9092"],"jmx_port":-1,"port":9092,"host":"h1",'
            b'"version":5,"timestamp":"1"}',
            id="version 5",
        ),
        pytest.param(
            b'{"endpoints":["PLAINTEXT://h1:9092"],"host":null,"port":-1,"version":2}',
            id="version 2 by its endpoint",
        ),
    ],
)
def test_brokers_of_every_version_are_read(data: bytes) -> None:
    """A broker of any version that has a PLAINTEXT endpoint is read."""
    assert parse_broker(3, data) == Broker(3, "h1", 9092)


def test_an_endpoint_may_hold_an_ipv6_address() -> None:
    """An IPv6 address in an endpoint loses the URL's brackets."""
    data = b'{"endpoints":["PLAINTEXT://[::1]:9092"],"host":null,"port":-1}'
    assert parse_broker(3, data) == Broker(3, "::1", 9092)


@pytest.mark.parametrize(
    ("port", "is_port"), [(1, True), (65_535, True), (0, False), (65_536, False), (-1, False)]
)
def test_a_port_is_a_number_of_16_bits(port: int, is_port: bool) -> None:
    """A port is a number of 16 bits, alone and in an endpoint."""
    for data in (
        f'{{"version":1,"host":"h","port":{port}}}',
        f'{{"version":2,"host":null,"port":-1,"endpoints":["PLAINTEXT://h:{port}"]}}',
    ):
        found = parse_broker(3, data.encode())
        assert found == Broker(3, "h", port) if is_port else isinstance(found, Malformed)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"{}", "check the listeners (or host.name and port) of broker 3"),
        (b'{"host":"h","port":"9092"}', "check the listeners"),
        (b'{"host":"h","port":70000}', "check the listeners"),
        (b'{"host":"h","port":true}', "check the listeners"),
        (b'{"host":"","port":9092}', "check the listeners"),
        (
            b'{"endpoints":["SSL://h:9093"],"host":null,"port":-1}',
            "no PLAINTEXT listener among ['SSL://h:9093']: give broker 3 one",
        ),
        (
            b'{"listener_security_protocol_map":{"PLAINTEXT":"SSL"},'
            b'"endpoints":["PLAINTEXT://h:9092"],"host":null,"port":-1}',
            "no PLAINTEXT listener",
        ),
        (b'{"endpoints":[7,"x","PLAINTEXT://:1","PLAINTEXT://h:0"]}', "no PLAINTEXT listener"),
    ],
)
def test_a_broker_that_can_not_be_reached_has_a_reason(data: bytes, reason: str) -> None:
    """A broker that can't be reached has a reason that names it, and what to change there."""
    assert reason in malformed(parse_broker(3, data))


# --- Topics, offsets, owners ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            b'{"version":1,"partitions":{"4":[1],"1":[2],"0":[1],"10":[3],"2":[1]}}',
            (0, 1, 2, 4, 10),
        ),
        (b'{ "partitions":{ "0":[ 1, 2 ], "1":[ 1, 2 ] }, "version":1 }', (0, 1)),
        (
            b'{"version":2,"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}',
            (0,),
        ),
        (
            b'{"partitions":{"0":[1,2]},"topic_id":"c2b6IfWRQ2SBj9EJvC3rEw",'
            b'"adding_replicas":{"0":[2]},"removing_replicas":{},"version":3}',
            (0,),
        ),
        (b'{"version":1,"partitions":{}}', ()),
    ],
)
def test_partitions_come_sorted_as_numbers(data: bytes, expected: tuple[int, ...]) -> None:
    """Partitions are sorted by number, as Scala writes the keys in hash order."""
    assert parse_topic(data) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"{}", "'partitions'"),
        (b'{"partitions":[0]}', "'partitions'"),
        (b'{"partitions":{"x":[1]}}', "'x' is not a number"),
        (b'{"partitions":{"-1":[1]}}', "not a number"),
        (b'{"partitions":{"2147483648":[1]}}', "not a number"),
        ('{"partitions":{"\u0663":[1]}}'.encode(), "not a number"),
    ],
)
def test_an_invalid_topic_has_a_reason(data: bytes, reason: str) -> None:
    """An invalid topic is returned with a reason, and nothing is raised."""
    assert reason in malformed(parse_topic(data))


@pytest.mark.parametrize(
    ("data", "offset"),
    [(b"6", 6), (b"0", 0), (b"-1", -1), (b"+6", 6), (b"9223372036854775807", 2**63 - 1)],
)
def test_offsets_are_read_as_java_reads_a_long(data: bytes, offset: int) -> None:
    """Offsets are decimal text with an optional sign, as Java reads a long."""
    assert parse_offset(data) == offset


@pytest.mark.parametrize(
    "data", [b"", b" 6", b"6\n", b"6.0", b'"6"', b"9223372036854775808", b"\xd9\xa3", b"1" * 6000]
)
def test_anything_else_is_no_offset(data: bytes) -> None:
    """Any other offset is returned as malformed; Scala fails the whole rebalance on it."""
    assert "is not an offset" in malformed(parse_offset(data))


def test_offsets_are_written_bare() -> None:
    """Offsets are written as the bare number."""
    assert encode_offset(1234567890123) == b"1234567890123"


def test_an_owner_is_text_whatever_the_bytes() -> None:
    """An owner is read as text from any bytes, so that it can be named."""
    assert parse_owner(b"g1_vm-1795227905282-175d85c9-0") == "g1_vm-1795227905282-175d85c9-0"
    assert parse_owner(b"\xff") == "\ufffd"


def test_a_reason_shows_the_beginning_of_a_long_value() -> None:
    """A reason shows the beginning of a long value: a node may hold a megabyte."""
    found = parse_topic(b'{"version":1,"partitions":"' + b"x" * 5_000 + b'"}')
    assert isinstance(found, Malformed)
    assert "'xxx" in found.reason
    assert found.reason.endswith("...")
    assert len(found.reason) < 150


def test_registrations_are_equal_whether_or_not_scala_reads_them() -> None:
    """Registrations are equal whether or not Scala can read their JSON."""
    plain = Registration(subscription={"t": 1})
    assert plain == Registration(subscription={"t": 1}, scala_problem="a number in quotes")
