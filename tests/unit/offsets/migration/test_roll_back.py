"""The roll-back file of a migration."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.offsets.migration.plan import OffsetStorage
from zkconsumer.offsets.migration.roll_back import (
    RollBack,
    decode_roll_back,
    decode_roll_backs,
    encode_roll_backs,
)

OFFSETS = st.none() | st.builds(
    OffsetAndMetadata, st.integers(0, 2**63 - 1), st.text(), st.just(-1)
)
ROLL_BACKS = st.builds(
    RollBack,
    group_id=st.text(),
    target=st.sampled_from(OffsetStorage),
    zookeeper=st.text(),
    made_ms=st.integers(0, 2**43),
    written=st.dictionaries(
        st.builds(TopicPartition, st.text(), st.integers(0, 9)), st.tuples(OFFSETS, OFFSETS)
    ),
)
SOME = RollBack(
    group_id="g",
    target=OffsetStorage.KAFKA,
    zookeeper="zk:2181",
    made_ms=1,
    written={TopicPartition("t", 0): (None, OffsetAndMetadata(7))},
)


@given(ROLL_BACKS)
def test_a_roll_back_file_round_trips(roll_back: RollBack) -> None:
    """This holds whatever names and metadata it has."""
    assert decode_roll_back(encode_roll_backs([roll_back]), "f") == roll_back


def test_a_partition_takes_a_line() -> None:
    """So people can read and compare it."""
    assert encode_roll_backs([SOME]).splitlines()[-4:] == [
        ' "partitions": [',
        '  {"topic": "t", "partition": 0, "before": null, "after": {"offset": 7, "metadata": ""}}',
        " ]",
        "}",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "another"}', "[" * 100_000])
def test_other_files_are_no_roll_back(text: str) -> None:
    """The error names the file."""
    with pytest.raises(ConfigError, match=r"^f is no roll-back file"):
        decode_roll_back(text, "f")


def test_a_later_version_is_refused() -> None:
    """Its meaning is unknown to this version."""
    parsed = {**json.loads(encode_roll_backs([SOME])), "version": 3}
    with pytest.raises(ConfigError, match="f has version 3, and this program reads up to 2"):
        decode_roll_back(json.dumps(parsed), "f")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("target", "elsewhere"),
        ("group", 5),
        ("made_ms", True),
        ("partitions", None),
        ("partitions", [{}]),
        ("partitions", [{"topic": "t", "partition": -1, "before": None, "after": None}]),
        ("partitions", [{"topic": "t", "partition": 0, "before": 5, "after": None}]),
        (
            "partitions",
            [{"topic": "t", "partition": 0, "before": {"offset": "5"}, "after": None}],
        ),
        ("partitions", [7]),
    ],
)
def test_a_damaged_file_is_refused(key: str, value: object) -> None:
    """A damaged file undoes nothing, not even in part."""
    parsed = {**json.loads(encode_roll_backs([SOME])), key: value}
    with pytest.raises(ConfigError, match=r"^f is damaged"):
        decode_roll_back(json.dumps(parsed), "f")


def test_several_stores_and_groups_are_read_from_one_file() -> None:
    """They are in the order in which they were written."""
    other = replace(SOME, group_id='a "b"', target=OffsetStorage.ZOOKEEPER)
    text = encode_roll_backs([SOME, other])
    assert decode_roll_backs(text, "f") == (SOME, other)
    assert json.loads(text)["version"] == 2
    with pytest.raises(ConfigError, match="several places or groups: 'zkconsumer offsets set"):
        decode_roll_back(text, "f")


def test_a_file_of_one_part_has_the_format_of_a_single_roll_back() -> None:
    """So each reader can undo what any writer wrote."""
    text = encode_roll_backs([SOME])
    assert json.loads(text)["version"] == 1
    assert decode_roll_backs(text, "f") == (decode_roll_back(text, "f"),) == (SOME,)


@pytest.mark.parametrize("parts", [5, [5], [{}], {"a": 1}])
def test_damaged_parts_are_refused(parts: object) -> None:
    """Any invalid part of the file is an error."""
    parsed = {**json.loads(encode_roll_backs([SOME, SOME])), "parts": parts}
    with pytest.raises(ConfigError, match="f is damaged"):
        decode_roll_backs(json.dumps(parsed), "f")
