"""What nodes hold: Scala's bytes out, everything that Scala may read in."""

import pytest

from zkconsumer.errors import LocalProtocolError
from zkconsumer.model import Broker
from zkconsumer.zk.nodes import (
    Malformed,
    Pattern,
    Registration,
    encode_offset,
    encode_registration,
    parse_broker,
    parse_offset,
    parse_owner,
    parse_registration,
    parse_topic,
)


def malformed(value: object) -> str:
    """The reason of a value that must be malformed."""
    assert isinstance(value, Malformed), value
    return value.reason


# --- Registrations, written ----------------------------------------------------------------------


def test_a_static_registration_is_written_as_scala_writes_it() -> None:
    """Field order, no spaces, the timestamp as text: seen on a running 0.8.2.2."""
    registration = Registration(
        subscription={"t1": 2, "auto1": 1}, timestamp_ms=1795227905398, pattern=Pattern.STATIC
    )
    assert encode_registration(registration) == (
        b'{"version":1,"subscription":{"t1":2,"auto1":1},"pattern":"static",'
        b'"timestamp":"1795227905398"}'
    )


def test_an_empty_subscription_is_legal() -> None:
    """A member may consume nothing."""
    assert encode_registration(Registration(subscription={}, timestamp_ms=1)) == (
        b'{"version":1,"subscription":{},"pattern":"static","timestamp":"1"}'
    )


@pytest.mark.parametrize(
    ("regex", "written"),
    [
        (r"t1|auto\d+", rb"t1|auto\\d+"),
        ('-"-', rb"-\"-"),
        ("-\\-", rb"-\\-"),
        ("-/-", rb"-\/-"),
        ("\b\f\n\r\t", rb"\b\f\n\r\t"),
        ("\x00\x1f\x7f\x9f", rb"\u0000\u001f\u007f\u009f"),
        ("\u00a0\u00e9", "\u00a0\u00e9".encode()),
        (r"test-(?!bad\b)[\w]+", rb"test-(?!bad\\b)[\\w]+"),
    ],
)
def test_a_regex_is_escaped_as_scala_escapes_it(regex: str, written: bytes) -> None:
    """Slashes and C1 control characters too; everything else goes as it is."""
    registration = Registration(subscription={regex: 2}, pattern=Pattern.WHITE_LIST, timestamp_ms=7)
    encoded = encode_registration(registration)
    assert encoded == (
        b'{"version":1,"subscription":{"' + written + b'":2},"pattern":"white_list",'
        b'"timestamp":"7"}'
    )
    assert parse_registration(encoded) == registration


@pytest.mark.parametrize(
    ("registration", "reason"),
    [
        (Registration(subscription={"t": 0}, timestamp_ms=1), "0 streams"),
        (Registration(subscription={"t": 2**31}, timestamp_ms=1), "streams"),
        (Registration(subscription={"t": 1}), "time"),
        (Registration(subscription={'t"': 1}, timestamp_ms=1), "not the name of a topic"),
        (
            Registration(subscription={}, pattern=Pattern.BLACK_LIST, timestamp_ms=1),
            "exactly one regex",
        ),
        (
            Registration(subscription={"a": 1, "b": 1}, pattern=Pattern.WHITE_LIST, timestamp_ms=1),
            "exactly one regex",
        ),
        (
            Registration(subscription={"\ud800": 1}, pattern=Pattern.WHITE_LIST, timestamp_ms=1),
            "Unicode",
        ),
    ],
)
def test_what_scala_could_not_read_is_not_written(registration: Registration, reason: str) -> None:
    """Our own mistake stops us, not the whole group."""
    with pytest.raises(LocalProtocolError, match=reason):
        encode_registration(registration)


# --- Registrations, read -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            b'{ "pattern":"static", "subscription":{ "t1": 1,"auto1": 2 }, '
            b'"timestamp":"1795228572769", "version":1 }',
            Registration(subscription={"t1": 1, "auto1": 2}, timestamp_ms=1795228572769),
            id="0.8.0",
        ),
        pytest.param(
            b'{"version":1,"subscription":{"t1|auto\\d+":1},"pattern":"white_list",'
            b'"timestamp":"5"}',
            Registration(
                subscription={r"t1|auto\d+": 1}, pattern=Pattern.WHITE_LIST, timestamp_ms=5
            ),
            id="0.8.1 wildcard, not escaped",
        ),
        pytest.param(
            b'{"version":1,"subscription":{"a\\b\\tc\\u12\\w":1},"pattern":"black_list",'
            b'"timestamp":"5"}',
            Registration(
                subscription={"a\b\tc\\u12\\w": 1}, pattern=Pattern.BLACK_LIST, timestamp_ms=5
            ),
            id="what looks like an escape is one",
        ),
        pytest.param(
            b'{"subscription":{"a\tb\x01":1},"pattern":"white_list"}',
            Registration(subscription={"a\tb\x01": 1}, pattern=Pattern.WHITE_LIST),
            id="control characters, not escaped",
        ),
        pytest.param(
            b'{"subscription":{"t":1},"pattern":"static"}',
            Registration(subscription={"t": 1}),
            id="no timestamp",
        ),
        pytest.param(
            b'{"subscription":{"t":1},"pattern":"range","extra":[null,{"x":true}]}',
            Registration(subscription={"t": 1}),
            id="any other pattern is static",
        ),
        pytest.param(
            b'{"subscription":{"t":1},"pattern":null}',
            Registration(subscription={"t": 1}),
            id="a null pattern is static",
        ),
        pytest.param(
            b'{"subscription":{},"pattern":"white_list"}',
            Registration(subscription={}),
            id="an empty subscription is static",
        ),
        pytest.param(
            b'{"subscription":{"first":2,"second":3},"pattern":"white_list"}',
            Registration(subscription={"first": 2}, pattern=Pattern.WHITE_LIST),
            id="the first entry of a wildcard",
        ),
        pytest.param(
            b'{"subscription":{"t\xff":1},"pattern":"static"}',
            Registration(subscription={"t\ufffd": 1}),
            id="bytes that are not UTF-8",
        ),
        pytest.param(
            b'{"subscription":{"t":1},"pattern":"static","timestamp":"soon"}',
            Registration(subscription={"t": 1}),
            id="a timestamp that is no time",
        ),
    ],
)
def test_registrations_of_every_version_are_read(data: bytes, expected: Registration) -> None:
    """Order, spacing and extra fields do not matter; Scala has no trouble with these either."""
    parsed = parse_registration(data)
    assert parsed == expected
    assert isinstance(parsed, Registration)
    assert parsed.scala_problem is None
    assert list(parsed.subscription) == list(expected.subscription)


@pytest.mark.parametrize(
    ("field", "number"),
    [("timestamp", "1795227905398"), ("version", "1.0"), ("extra", "1e3"), ("x", "-2147483649")],
)
def test_a_number_that_scala_chokes_on_is_noted(field: str, number: str) -> None:
    """We read the registration; the note says on what every Scala member fails."""
    data = f'{{"subscription":{{"t":1}},"pattern":"static","{field}":{number}}}'
    parsed = parse_registration(data.encode())
    assert isinstance(parsed, Registration)
    assert parsed.subscription == {"t": 1}
    assert number in str(parsed.scala_problem)


def test_a_numeric_timestamp_is_still_a_time() -> None:
    """What the foreign client meant is clear."""
    parsed = parse_registration(b'{"subscription":{},"pattern":"","timestamp":1795227905398}')
    assert isinstance(parsed, Registration)
    assert parsed.timestamp_ms == 1795227905398


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"topicname", "not JSON"),
        (b'{"subscription":{"t":1},"pattern":"static"} x', "not JSON"),
        (b'{"subscription":{"t":1,},"pattern":"static"}', "not JSON"),
        (b"[1]", "list"),
        (b'"text"', "str"),
        (b"null", "NoneType"),
        (b'{"subscription":{"t":1}}', "'pattern'"),
        (b'{"subscription":{"t":1},"pattern":7}', "'pattern'"),
        (b'{"pattern":"static"}', "'subscription'"),
        (b'{"pattern":"static","subscription":["t"]}', "'subscription'"),
        (b'{"pattern":"static","subscription":{"t":0}}', "stream count of 't' is 0"),
        (b'{"pattern":"static","subscription":{"t":"1"}}', "stream count"),
        (b'{"pattern":"static","subscription":{"t":true}}', "stream count"),
        (b'{"pattern":"static","subscription":{"t":1.0}}', "stream count"),
        (b'{"pattern":"static","subscription":{"t":' + b"9" * 5000 + b"}}", "5000 digits"),
        (b'{"x":NaN,"pattern":"static","subscription":{}}', "NaN"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_what_is_no_registration_says_why(data: bytes, reason: str) -> None:
    """Garbage of a foreign client is a value with a reason, never an exception."""
    assert reason in malformed(parse_registration(data))


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
    """Whoever has a PLAINTEXT endpoint can be reached."""
    assert parse_broker(3, data) == Broker(3, "h1", 9092)


def test_an_endpoint_may_hold_an_ipv6_address() -> None:
    """The brackets belong to the URL, not to the host."""
    data = b'{"endpoints":["PLAINTEXT://[::1]:9092"],"host":null,"port":-1}'
    assert parse_broker(3, data) == Broker(3, "::1", 9092)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"{}", "look at the listeners (or host.name and port) of broker 3"),
        (b'{"host":"h","port":"9092"}', "look at the listeners"),
        (b'{"host":"h","port":70000}', "look at the listeners"),
        (b'{"host":"h","port":true}', "look at the listeners"),
        (b'{"host":"","port":9092}', "look at the listeners"),
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
def test_a_broker_that_cannot_be_reached_says_what_to_do(data: bytes, reason: str) -> None:
    """The reason names the broker and what to change there."""
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
    """Versions 1 to 3; Scala writes the keys in hash order."""
    assert parse_topic(data) == expected


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"{}", "'partitions'"),
        (b'{"partitions":[0]}', "'partitions'"),
        (b'{"partitions":{"x":[1]}}', "'x' is no number"),
        (b'{"partitions":{"-1":[1]}}', "no number"),
        (b'{"partitions":{"2147483648":[1]}}', "no number"),
        ('{"partitions":{"\u0663":[1]}}'.encode(), "no number"),
    ],
)
def test_a_topic_that_makes_no_sense_says_why(data: bytes, reason: str) -> None:
    """As a value."""
    assert reason in malformed(parse_topic(data))


@pytest.mark.parametrize(
    ("data", "offset"),
    [(b"6", 6), (b"0", 0), (b"-1", -1), (b"+6", 6), (b"9223372036854775807", 2**63 - 1)],
)
def test_offsets_are_read_as_java_reads_a_long(data: bytes, offset: int) -> None:
    """Bare decimal text, signs allowed."""
    assert parse_offset(data) == offset


@pytest.mark.parametrize(
    "data", [b"", b" 6", b"6\n", b"6.0", b'"6"', b"9223372036854775808", b"\xd9\xa3", b"1" * 6000]
)
def test_anything_else_is_no_offset(data: bytes) -> None:
    """Scala would fail the whole attempt on it; here it is a value."""
    assert "is no offset" in malformed(parse_offset(data))


def test_offsets_are_written_bare() -> None:
    """Nothing around the number."""
    assert encode_offset(1234567890123) == b"1234567890123"


def test_an_owner_is_plain_text_whatever_it_is() -> None:
    """Another client's bytes must not stop us from naming the owner."""
    assert parse_owner(b"g1_vm-1795227905282-175d85c9-0") == "g1_vm-1795227905282-175d85c9-0"
    assert parse_owner(b"\xff") == "\ufffd"
