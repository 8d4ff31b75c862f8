"""What must hold for the planning of Spark's queries, whatever the numbers."""

import contextlib
import json
import operator
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import datasource as ds

from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetRange, TopicPartition
from zkconsumer.spark.admission import BatchAdmission
from zkconsumer.spark.filters import Condition, is_exact, select
from zkconsumer.spark.offset_json import from_json, read_offsets, to_json
from zkconsumer.spark.offset_ranges import divide, rate_limit
from zkconsumer.spark.options import source_options
from zkconsumer.spark.pushdown import condition_of

OFFSETS = st.integers(0, 2**40)
PARTITIONS = st.builds(
    TopicPartition, st.sampled_from(["a", "b", "long.name"]), st.integers(0, 2**31 - 1)
)


@st.composite
def some_ranges(draw: st.DrawFn, *, most: int = 10**6) -> list[OffsetRange]:
    """Draw ranges, one for each partition."""
    partitions = draw(st.lists(PARTITIONS, unique=True, max_size=6))
    begins = [draw(OFFSETS) for _ in partitions]
    sizes = [draw(st.one_of(st.integers(0, 3), st.integers(0, most))) for _ in partitions]
    return [
        OffsetRange(topic_partition=tp, from_offset=begin, until_offset=begin + size)
        for tp, begin, size in zip(partitions, begins, sizes, strict=True)
    ]


@given(some_ranges(), st.none() | st.integers(1, 500), st.none() | st.integers(50_000, 10**7))
def test_dividing_ranges_loses_and_repeats_nothing(
    ranges: list[OffsetRange], least: int | None, most: int | None
) -> None:
    """The pieces of each range are consecutive, and none is empty or too large."""
    pieces = divide(ranges, least, most)
    assert all(piece.count > 0 for piece in pieces)
    assert most is None or all(piece.count <= most for piece in pieces)
    for whole in ranges:
        at = whole.from_offset
        for piece in pieces:
            if piece.topic_partition == whole.topic_partition:
                assert piece.from_offset == at
                at = piece.until_offset
        assert at == whole.until_offset
    spread = len(pieces) - sum(1 for whole in ranges if whole.count)
    assert least is None or most is not None or spread <= max(0, least) + len(ranges)


@given(
    st.dictionaries(PARTITIONS, st.tuples(OFFSETS, st.integers(-50, 10**9)), max_size=8),
    st.integers(1, 10**7),
)
def test_a_limited_batch_makes_progress_within_its_limit(
    pairs: dict[TopicPartition, tuple[int, int]], limit: int
) -> None:
    """Every partition with records gets some; the total hardly exceeds the limit."""
    start = {tp: begin for tp, (begin, _) in pairs.items()}
    latest = {tp: begin + more for tp, (begin, more) in pairs.items()}
    ends = rate_limit(start, latest, limit)
    assert ends.keys() == latest.keys()
    taken = 0
    for tp, end in ends.items():
        if latest[tp] <= start[tp]:
            assert end == latest[tp]
        else:
            assert start[tp] < end <= latest[tp]
            taken += end - start[tp]
    assert taken <= limit + len(pairs)
    if sum(max(0, more) for _, more in pairs.values()) <= limit:
        assert ends == latest


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 100)), min_size=1, max_size=20),
    st.none() | st.integers(1, 200),
    st.none() | st.integers(0, 200),
    st.integers(0, 300),
)
def test_a_stream_gets_everything_in_the_end(
    arrivals: list[tuple[int, int]], most: int | None, least: int | None, delay_ms: int
) -> None:
    """Batches only go forward, and none is delayed beyond the maximum."""
    tp = TopicPartition("a", 0)
    admission = BatchAdmission(max_offsets=most, min_offsets=least, max_delay_ms=delay_ms)
    at, log_end, now_ms = 0, 0, 0
    waiting_since: int | None = None
    for pause_ms, count in arrivals:
        now_ms, log_end = now_ms + pause_ms, log_end + count
        end = admission.next_end({tp: at}, {tp: log_end}, {}, now_ms=now_ms)[tp]
        assert at <= end <= log_end
        assert most is None or end - at <= most
        if end == at < log_end:
            waiting_since = now_ms if waiting_since is None else waiting_since
            assert now_ms - waiting_since < delay_ms
        else:
            waiting_since = None
        at = end
    for _ in range(5000):
        if at == log_end:
            break
        now_ms += delay_ms
        at = admission.next_end({tp: at}, {tp: log_end}, {}, now_ms=now_ms)[tp]
    assert at == log_end


@given(st.dictionaries(PARTITIONS, OFFSETS))
def test_offsets_survive_json(offsets: dict[TopicPartition, int]) -> None:
    """They do as a value, and as the text of an option."""
    text = json.dumps(to_json(offsets))
    assert from_json(json.loads(text)) == offsets
    assert read_offsets("startingOffsets", text) == offsets


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["t", "0", "1", "-1", "x", ""]), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(st.one_of(JSON.map(json.dumps), st.text(max_size=20)))
def test_any_text_is_offsets_or_an_error(text: str) -> None:
    """There is no other outcome."""
    offsets: dict[TopicPartition, int] = {}
    refused = "startingOffsets: "
    try:
        offsets = read_offsets("startingOffsets", text)
    except ConfigError as error:
        refused = str(error)
    assert refused.startswith("startingOffsets: ")
    assert all(offset >= -2 and tp.partition >= 0 for tp, offset in offsets.items())


NAMES = [
    "assign",
    "endingOffsets",
    "failOnDataLoss",
    "group.id",
    "kafka.bootstrap.servers",
    "kafka.group.id",
    "kafka.max.partition.fetch.bytes",
    "maxOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "subscribe",
    "subscribePattern",
    "zookeeper.connect",
]
VALUES = st.sampled_from(["t", "h:1", "5", "-1", "latest", "group", '{"t":{"0":1}}', "true"])


@given(st.dictionaries(st.sampled_from(NAMES), VALUES | st.text(max_size=8)))
def test_any_options_are_read_or_refused(options: dict[str, str]) -> None:
    """A refusal is always a ConfigError."""
    with contextlib.suppress(ConfigError):
        source_options(options).for_batch()
    with contextlib.suppress(ConfigError):
        source_options(options).for_streaming()


COMPARED: list[tuple[Callable[[ds.ColumnPath, int], ds.Filter], Callable[[int, int], bool]]] = [
    (ds.EqualTo, operator.eq),
    (ds.LessThan, operator.lt),
    (ds.LessThanOrEqual, operator.le),
    (ds.GreaterThan, operator.gt),
    (ds.GreaterThanOrEqual, operator.ge),
]
Named = tuple[ds.Filter, Callable[[TopicPartition, int], bool]]


@st.composite
def some_filters(draw: st.DrawFn) -> Named:
    """Draw a filter, and a predicate of the same meaning."""
    value = draw(st.integers(-1, 12))
    name = draw(st.sampled_from(["partition", "offset"]))

    def number(tp: TopicPartition, offset: int) -> int:
        return tp.partition if name == "partition" else offset

    match draw(st.sampled_from(["among", "starts", "not", "compare"])):
        case "among":
            among = draw(st.lists(st.integers(-1, 12), max_size=3))
            return ds.In((name,), tuple(among)), lambda tp, offset: number(tp, offset) in among
        case "starts":
            prefix = draw(st.sampled_from(["", "a", "ab", "b"]))
            one = ds.StringStartsWith(("topic",), prefix)
            return one, lambda tp, _: tp.topic.startswith(prefix)
        case "not":
            child, meaning = draw(some_filters())
            return ds.Not(child), lambda tp, offset: not meaning(tp, offset)
        case _:
            build, compare = draw(st.sampled_from(COMPARED))
            return build((name,), value), lambda tp, offset: compare(number(tp, offset), value)


@given(st.lists(some_filters(), max_size=4))
def test_filters_exclude_exactly_what_they_reject(filters: list[Named]) -> None:
    """What is read and passes the filters that Spark applies itself is what all filters accept."""
    ranges = [
        OffsetRange(topic_partition=TopicPartition(topic, part), from_offset=2, until_offset=11)
        for topic in ("a", "ab", "c")
        for part in range(3)
    ]
    conditions: list[Condition] = []
    still: list[Callable[[TopicPartition, int], bool]] = []
    for filter_, meaning in filters:
        condition = condition_of(filter_)
        if condition is not None:
            conditions.append(condition)
        if condition is None or not is_exact(condition):
            still.append(meaning)
    read = [
        (piece.topic_partition, offset)
        for piece in select(ranges, conditions)
        for offset in range(piece.from_offset, piece.until_offset)
    ]
    everything = [(range_.topic_partition, offset) for range_ in ranges for offset in range(2, 11)]
    assert [row for row in read if all(meaning(*row) for meaning in still)] == [
        row for row in everything if all(meaning(*row) for _, meaning in filters)
    ]
