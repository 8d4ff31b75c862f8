"""Properties of ZooKeeper nodes' contents: round trips, and any bytes are harmless."""

import json

from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.model import Broker
from zkconsumer.zk.json_dialect import JsonObject, Malformed, parse_object
from zkconsumer.zk.nodes import (
    Pattern,
    Registration,
    encode_offset,
    encode_registration,
    parse_broker,
    parse_offset,
    parse_registration,
    parse_topic,
)

TOPICS = st.from_regex(r"[a-zA-Z0-9_-]{1,20}", fullmatch=True)
COUNTS = st.integers(1, 2**31 - 1)
TIMES = st.integers(0, 2**62)
REGEXES = st.text(st.characters(exclude_categories=["Cs"]))
NOISE = st.one_of(
    st.binary(max_size=60),
    st.text('{}[]":,\\ub0129.eE-+ntfalsr \n\x00', max_size=60).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["pattern", "subscription", "timestamp", "partitions", "host", "port"]
                )
                | st.text(max_size=4),
                inner,
                max_size=4,
            )
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
)


@given(st.dictionaries(TOPICS, COUNTS, max_size=6), TIMES)
def test_a_static_registration_round_trips(subscription: dict[str, int], timestamp_ms: int) -> None:
    """Its topics keep the written order, which decides ties of round-robin."""
    registration = Registration(subscription=subscription, timestamp_ms=timestamp_ms)
    parsed = parse_registration(encode_registration(registration))
    assert parsed == registration
    assert isinstance(parsed, Registration)
    assert list(parsed.subscription) == list(subscription)


@given(REGEXES, COUNTS, TIMES, st.sampled_from([Pattern.WHITE_LIST, Pattern.BLACK_LIST]))
def test_any_regex_round_trips(regex: str, count: int, timestamp_ms: int, pattern: Pattern) -> None:
    """Our escapes are valid JSON for a strict parser, too."""
    registration = Registration(
        subscription={regex: count}, pattern=pattern, timestamp_ms=timestamp_ms
    )
    encoded = encode_registration(registration)
    assert parse_registration(encoded) == registration
    assert json.loads(encoded)["subscription"] == {regex: count}


@given(st.dictionaries(st.text(max_size=10), st.integers(-(2**31), 2**31 - 1) | st.text()))
def test_valid_json_is_parsed_as_by_any_parser(fields: dict[str, int | str]) -> None:
    """Leniency does not change the meaning of valid JSON."""
    data = json.dumps(fields).encode()
    assert parse_object(data) == JsonObject(dict(fields), None)


@given(st.text(st.sampled_from("abdw.+()[]|\\")).filter(lambda regex: regex[-1:] != "\\"))
def test_backslashes_that_start_no_escape_are_kept(regex: str) -> None:
    """The Scala reader does so with what 0.8.0 and 0.8.1 write; real escapes are decoded."""
    parsed = parse_object(b'{"' + regex.encode() + b'":1}')
    expected, rest = "", regex
    while rest:
        pair = rest[:2]
        folded = {"\\\\": "\\", "\\b": "\b"}.get(pair)
        expected += folded if folded is not None else rest[0]
        rest = rest[2:] if folded is not None else rest[1:]
    assert parsed == JsonObject({expected: 1}, None)


@given(NOISE)
def test_any_bytes_are_a_value_or_a_reason(data: bytes) -> None:
    """No parser raises, whatever a node contains."""
    assert isinstance(parse_object(data), JsonObject | Malformed)
    assert isinstance(parse_registration(data), Registration | Malformed)
    assert isinstance(parse_broker(1, data), Broker | Malformed)
    assert isinstance(parse_topic(data), tuple | Malformed)
    assert isinstance(parse_offset(data), int | Malformed)


@given(st.integers(0, 2**63 - 1))
def test_any_offset_round_trips(offset: int) -> None:
    """It does with all its 63 bits."""
    assert parse_offset(encode_offset(offset)) == offset


@given(
    st.sets(st.integers(0, 2**31 - 1), max_size=20).flatmap(lambda ids: st.permutations(list(ids)))
)
def test_partitions_come_sorted_whatever_their_order(ids: list[int]) -> None:
    """The order of the keys does not matter."""
    data = json.dumps(
        {"version": 1, "partitions": {str(member_id): [1] for member_id in ids}}
    ).encode()
    assert parse_topic(data) == tuple(sorted(ids))
