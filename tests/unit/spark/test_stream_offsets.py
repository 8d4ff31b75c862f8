"""A stream's offsets in the checkpoint: in the format of Spark's own source, with its start."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.stream_offsets import StreamOffsets

T0, T1 = TopicPartition("a", 0), TopicPartition("b", 10)
offsets = some.dictionaries(
    some.builds(
        TopicPartition, some.sampled_from(["a", "b", "a.b-c"]), some.integers(0, 2**31 - 1)
    ),
    some.integers(0, 2**63 - 1),
    max_size=5,
)


def test_the_format_is_that_of_sparks_own_source() -> None:
    """The JSON is that of Spark's own source, so that people and tools can read it."""
    assert StreamOffsets({T1: 7, T0: 5}).to_json() == {"a": {"0": 5}, "b": {"10": 7}}
    first = StreamOffsets({T0: 5}, {T0: 2})
    assert first.to_json() == {"a": {"0": 5}, "@start": {"a": {"0": 2}}}


@given(offsets=offsets, begun_at=some.none() | offsets)
def test_offsets_survive_the_checkpoint(
    offsets: dict[TopicPartition, int], begun_at: dict[TopicPartition, int] | None
) -> None:
    """Offsets survive the JSON in which Spark keeps them."""
    before = StreamOffsets(offsets, begun_at)
    assert StreamOffsets.from_json(json.loads(json.dumps(before.to_json()))) == before


@pytest.mark.parametrize("text", ['{"a": 5}', '{"a": {"x": 5}}', '{"@start": 3}', '{"a":{"0":""}}'])
def test_the_checkpoint_of_another_source_is_refused(text: str) -> None:
    """The checkpoint of another source is refused."""
    with pytest.raises(ConfigError, match="checkpoint: "):
        StreamOffsets.from_json(json.loads(text))
