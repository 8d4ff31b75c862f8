"""JSON in ZooKeeper: which of it Scala members can't read, and what we refuse as no JSON."""

import pytest

from zkconsumer.zk.json_dialect import JsonObject, Malformed, escape, parse_object


@pytest.mark.parametrize(
    ("number", "value", "is_readable"),
    [
        ("2147483647", 2**31 - 1, True),
        ("2147483648", 2**31, False),
        ("-2147483648", -(2**31), True),
        ("-2147483649", -(2**31) - 1, False),
        ("0", 0, True),
        ("1.0", 1.0, False),
        ("1e2", 100.0, False),
    ],
)
def test_scala_reads_plain_integers_of_32_bits(
    number: str, value: float, is_readable: bool
) -> None:
    """Scala reads integers of 32 bits only; we read other numbers, and report that it can't."""
    problem = None if is_readable else f"the number {number} is not a 32-bit integer"
    assert parse_object(f'{{"n":{number}}}'.encode()) == JsonObject({"n": value}, problem)


def test_the_first_number_that_scala_can_not_read_is_reported() -> None:
    """The first such number is reported, whatever field it is in."""
    parsed = parse_object(b'{"a":1,"b":{"c":[5000000000]},"d":0.5}')
    assert isinstance(parsed, JsonObject)
    assert parsed.scala_problem == "the number 5000000000 is not a 32-bit integer"


@pytest.mark.parametrize(("digits", "is_read"), [(64, True), (65, False)])
def test_a_number_of_too_many_digits_is_refused(digits: int, is_read: bool) -> None:
    """A number of more than 64 digits is refused, as Python would take long to parse it."""
    parsed = parse_object(b'{"n":%s}' % (b"9" * digits))
    assert isinstance(parsed, JsonObject if is_read else Malformed)
    if isinstance(parsed, Malformed):
        assert parsed.reason == "not JSON: a number of 65 digits"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "the node is empty"),
        (b"[1]", "JSON, but a list instead of an object"),
        (b"null", "JSON, but a NoneType instead of an object"),
        (b'{"n":NaN}', "not JSON: NaN is not a JSON value"),
        (b"[" * 100_000, "not JSON: "),
        (b"{", "not JSON: "),
    ],
)
def test_what_is_no_object_has_a_reason(data: bytes, reason: str) -> None:
    """What is no JSON object is returned with a reason, and nothing is raised."""
    parsed = parse_object(data)
    assert isinstance(parsed, Malformed)
    assert parsed.reason.startswith(reason)


def test_a_backslash_that_starts_no_escape_stands_for_itself() -> None:
    """A backslash before no escape is kept, as in a regex that 0.8.0 and 0.8.1 wrote."""
    parsed = parse_object(rb'{"t\d\\e\b\u0041\u00":1}')
    assert parsed == JsonObject({"t\\d\\e\bA\\u00": 1}, None)


def test_bytes_and_characters_are_read_as_in_java() -> None:
    """Invalid UTF-8 is replaced, and control characters are allowed, as in Java."""
    assert parse_object(b'{"a":"\xff\x00"}') == JsonObject({"a": "\ufffd\x00"}, None)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ('a"b', 'a\\"b'),
        ("t\\d", "t\\\\d"),
        ("/\b\f\n\r\t", "\\/\\b\\f\\n\\r\\t"),
        ("\x00\x1f\x7f\x9f", "\\u0000\\u001f\\u007f\\u009f"),
        (" ~\xa0\u0416", " ~\xa0\u0416"),
    ],
)
def test_text_is_escaped_as_kafka_0_8_2_does(text: str, escaped: str) -> None:
    """Text is escaped as Kafka 0.8.2 does: slashes and C1 control characters, too."""
    assert escape(text) == escaped
