"""How offset ranges are combined into jobs."""

from zkconsumer.drain.local.reading import bundled
from zkconsumer.model import OffsetRange, TopicPartition


def piece(topic: str, partition: int, count: int) -> OffsetRange:
    """Build a range of ``count`` offsets."""
    return OffsetRange(
        topic_partition=TopicPartition(topic, partition), from_offset=5, until_offset=5 + count
    )


def test_small_ranges_of_a_topic_share_a_job() -> None:
    """Large ranges have a job each, and topics are separate, since their files are."""
    small = [piece("a", number, 30) for number in range(4)]
    large, other = piece("a", 4, 500), piece("b", 0, 1)
    assert bundled([*small, large, other], 100) == [small[:3], small[3:], [large], [other]]
    assert bundled([], 100) == []
