"""Registrations of members: written as Scala does, and read in every form that Scala may read."""

import pytest

from tests.support.zk_tree import malformed
from zkconsumer.errors import LocalProtocolError
from zkconsumer.zk.nodes import (
    Pattern,
    Registration,
    encode_registration,
    parse_registration,
)

# --- Registrations, written ----------------------------------------------------------------------


def test_a_static_registration_is_written_as_scala_writes_it() -> None:
    """A static registration has the field order and spacing of a running 0.8.2.2."""
    registration = Registration(
        subscription={"t1": 2, "auto1": 1}, timestamp_ms=1795227905398, pattern=Pattern.STATIC
    )
    assert encode_registration(registration) == (
        b'{"version":1,"subscription":{"t1":2,"auto1":1},"pattern":"static",'
        b'"timestamp":"1795227905398"}'
    )


def test_an_empty_subscription_is_legal() -> None:
    """An empty subscription is written, as a member may consume nothing."""
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
    """Slashes and C1 control characters are escaped, too, and everything else is unchanged."""
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
    """A registration that Scala could not read is refused, as the whole group would fail on it."""
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
    """Order, spacing and extra fields do not matter, and Scala reads these, too."""
    parsed = parse_registration(data)
    assert parsed == expected
    assert isinstance(parsed, Registration)
    assert parsed.scala_problem is None
    assert list(parsed.subscription) == list(expected.subscription)


@pytest.mark.parametrize(
    ("field", "number"),
    [("timestamp", "1795227905398"), ("version", "1.0"), ("extra", "1e3"), ("x", "-2147483649")],
)
def test_a_number_that_scala_can_not_read_is_noted(field: str, number: str) -> None:
    """A registration with a number that Scala can't read is read, and the number is noted."""
    data = f'{{"subscription":{{"t":1}},"pattern":"static","{field}":{number}}}'
    parsed = parse_registration(data.encode())
    assert isinstance(parsed, Registration)
    assert parsed.subscription == {"t": 1}
    assert number in str(parsed.scala_problem)


def test_a_numeric_timestamp_is_read() -> None:
    """A timestamp that is a number is read as one, unlike Scala's text."""
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
def test_an_invalid_registration_has_a_reason(data: bytes, reason: str) -> None:
    """An invalid registration is returned with a reason, and nothing is raised."""
    assert reason in malformed(parse_registration(data))
