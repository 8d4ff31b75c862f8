"""The values that all other modules use."""

import pytest

from zkconsumer.model import (
    Broker,
    ConsumerGroupMetadata,
    ConsumerThreadId,
    OffsetAndMetadata,
    OffsetRange,
    TopicPartition,
    utf16_key,
)


def test_partitions_sort_by_topic_and_then_as_numbers() -> None:
    """Partition 9 comes before partition 10."""
    rows = [("b", 0), ("a", 10), ("a", 9)]
    assert sorted(TopicPartition(*row) for row in rows) == [("a", 9), ("a", 10), ("b", 0)]


def test_values_have_short_texts_for_messages() -> None:
    """Formatted values are the short names that messages use."""
    assert f"{TopicPartition('t-x', 3)}" == format(TopicPartition("t-x", 3)) == "t-x-3"
    assert f"{TopicPartition('t', 3):>5}" == "  t-3"
    assert str(Broker(2, "host", 9092)) == "broker 2 (host:9092)"
    assert str(ConsumerThreadId("g_c-1", 10)) == "g_c-1-10"


def test_a_range_has_a_count_and_a_text() -> None:
    """The end of a range is exclusive."""
    range_ = OffsetRange(topic_partition=TopicPartition("t", 3), from_offset=5, until_offset=9)
    assert range_.count == 4
    assert str(range_) == "t-3 [5, 9)"
    assert (
        OffsetRange(topic_partition=TopicPartition("t", 3), from_offset=5, until_offset=5).count
        == 0
    )


@pytest.mark.parametrize(("start", "end"), [(-1, 4), (4, 3), (-2, -2)])
def test_a_range_runs_forward_from_a_real_offset(start: int, end: int) -> None:
    """-1 and -2 mean "latest" and "earliest" to a broker, so they must not pass for offsets."""
    with pytest.raises(ValueError, match=r"t-3"):
        OffsetRange(topic_partition=TopicPartition("t", 3), from_offset=start, until_offset=end)


def test_threads_sort_as_text() -> None:
    """Both assignors depend on the order 1, 10, 2."""
    threads = [ConsumerThreadId("c", number) for number in (2, 10, 1)]
    assert [thread.thread for thread in sorted(threads)] == [1, 10, 2]
    assert ConsumerThreadId("c", 10) < ConsumerThreadId("c", 2)
    assert ConsumerThreadId("c", 2) >= ConsumerThreadId("c", 10)


def test_a_thread_cannot_be_ordered_with_other_types() -> None:
    """An ordering comparison raises an error; other values are unequal."""
    thread, text = ConsumerThreadId("c", 1), object()
    with pytest.raises(TypeError):
        _ = thread < text
    assert thread != text


def test_text_sorts_by_utf16_code_unit_as_in_java() -> None:
    """A character above U+FFFF sorts before U+FF5E in Java, but not in Python."""
    beyond, within = "\U0001f600", "\uff5e"
    assert beyond > within
    assert utf16_key(beyond) < utf16_key(within)
    assert utf16_key("\ud800") < utf16_key("\ue000")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("c-0", ("c", 0)),
        ("g1_vm-1795227905282-175d85c9-12", ("g1_vm-1795227905282-175d85c9", 12)),
        ("a--1", ("a-", 1)),
    ],
)
def test_a_thread_id_is_split_at_its_last_dash(text: str, expected: tuple[str, int]) -> None:
    """The consumer id may hold dashes itself."""
    assert ConsumerThreadId.parse(text) == ConsumerThreadId(*expected)


@pytest.mark.parametrize(
    "text", ["", "c", "c-", "-1", "c-x", "c-1 ", "c-²", "c-\uff11", "c-+1", f"c-{'1' * 5000}"]
)
def test_an_invalid_thread_id_parses_as_none(text: str) -> None:
    """Other clients write what they like, so an invalid id is not an error."""
    assert ConsumerThreadId.parse(text) is None


def test_str_of_a_partition_equals_kafka_python_s() -> None:
    """``str`` shows the tuple as in kafka-python."""
    assert str(TopicPartition("t-x", 3)) == "TopicPartition(topic='t-x', partition=3)"


def test_positions_are_tuples_with_defaults() -> None:
    """The tuples have kafka-python's fields and defaults."""
    assert OffsetAndMetadata(5) == (5, "", -1)
    assert tuple(OffsetAndMetadata()) == (None, "", -1)
    assert OffsetAndMetadata(5, "m", 2)._replace(offset=6)._asdict() == {
        "offset": 6,
        "metadata": "m",
        "leader_epoch": 2,
    }
    assert ConsumerGroupMetadata() == (None, -1, "", None, "<unjoined>")
