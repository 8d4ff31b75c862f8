"""Offsets, times and partitions in the JSON of Spark's options."""

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.offset_json import (
    from_json,
    read_offsets,
    read_partitions,
    read_times,
    to_json,
)

T0, T10, U2 = TopicPartition("t", 0), TopicPartition("t", 10), TopicPartition("u", 2)


def test_offsets_are_written_in_order() -> None:
    """Offsets are written by topic, then by partition number, in whichever order they come."""
    written = to_json({U2: 5, T10: 4, T0: 3})
    assert written == {"t": {"0": 3, "10": 4}, "u": {"2": 5}}
    assert [list(written), list(written["t"])] == [["t", "u"], ["0", "10"]]


def test_offsets_are_read_as_spark_reads_them() -> None:
    """Offsets include -2 and -1, which stand for the ends of a log."""
    text = '{"t":{"0":23,"10":-1},"u":{"2":-2}}'
    assert read_offsets("startingOffsets", text) == {T0: 23, T10: -1, U2: -2}
    assert read_offsets("startingOffsets", "{}") == {}


def test_partitions_are_read_as_spark_reads_them() -> None:
    """Partitions are read sorted, each once."""
    assert read_partitions("assign", '{"u":[2],"t":[10,0,10],"v":[]}') == (T0, T10, U2)


def test_times_are_read_as_spark_reads_them() -> None:
    """Times are in milliseconds."""
    assert read_times("startingOffsetsByTimestamp", '{"t":{"0":1700000000000}}') == {
        T0: 1_700_000_000_000
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "[] is no object"),
        ('"latest"', "'latest' is no object"),
        ('{"t":5}', "topic t has 5"),
        ('{"t":[0]}', "topic t has [0]"),
        ('{"":{"0":1}}', "'' is no topic's name"),
        ('{"t":{"x":1}}', "topic t has 'x' for a partition's number"),
        ('{"t":{"-1":1}}', "topic t has '-1' for a partition's number"),
        ('{"t":{"2147483648":1}}', "for a partition's number"),
        ('{"t":{"0":"1"}}', "t-0 has '1', not a whole number"),
        ('{"t":{"0":1.5}}', "t-0 has 1.5, not a whole number"),
        ('{"t":{"0":true}}', "t-0 has True, not a whole number"),
        ('{"t":{"0":null}}', "t-0 has None, not a whole number"),
        ('{"t":{"0":9223372036854775808}}', "beyond 64 bits"),
        ('{"t":{"0":1,"0":2}}', "it has '0' twice"),
        ('{"t":{"0":1,"00":2}}', "it has t-0 twice"),
        ('{"t":{"0":1},"t":{"1":2}}', "it has 't' twice"),
        ('{"t":{"0":-3}}', "offset -3: an offset is 0 or more, -2 for the earliest"),
    ],
)
def test_invalid_offsets_are_refused_with_the_place(text: str, problem: str) -> None:
    """An error on offsets names the option, the place and, where it helps, an example."""
    with pytest.raises(ConfigError) as caught:
        read_offsets("startingOffsets", text)
    message = str(caught.value)
    assert message.startswith("startingOffsets: ")
    assert problem in message
    assert "-1" in message
    assert len(message) < 600


@pytest.mark.parametrize(
    "text",
    ['{"t":{"0":1}}', '{"t":[-1]}', '{"t":[true]}', '{"t":["x"]}', '{"t":[1.0]}', "[0]", "1"],
)
def test_invalid_partitions_are_refused_with_an_example(text: str) -> None:
    """An error on partitions has an example of valid JSON."""
    with pytest.raises(ConfigError, match=r'^assign: .* expected such as {"topicA":\[0,1\]'):
        read_partitions("assign", text)


def test_errors_on_other_json_name_it() -> None:
    """An error on JSON that is no option names what it is."""
    with pytest.raises(ConfigError, match=r"^plan 7: topic t has 5"):
        from_json({"t": 5}, what="plan 7")
