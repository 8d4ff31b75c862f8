"""Checks of the topics, filters and offsets that a caller gives to a connector."""

from collections.abc import Mapping

from zkconsumer.assignment.filters import Blacklist, Whitelist
from zkconsumer.errors import ConfigError
from zkconsumer.model import OffsetAndMetadata, TopicPartition
from zkconsumer.topic_name import is_topic_name


def check_topic_counts(topic_counts: Mapping[str, int]) -> None:
    """Check the topics, since a bad registration would stop every Scala member of the group.

    Raises:
        ConfigError: a topic name or a number is invalid (names it), or `topic_counts` is no map.
    """
    if not isinstance(topic_counts, Mapping):
        raise ConfigError(
            f"topics {topic_counts!r}: give the number of streams of each, such as {{'weblog': 1}}"
        )
    for topic, count in topic_counts.items():
        if not is_topic_name(topic):
            raise ConfigError(
                f"topic {topic!r}: a name has 1 to 255 letters, digits, '.', '_' or '-' "
                "and is not '.' or '..'; for patterns use create_message_streams_by_filter"
            )
        check_stream_count(count, f"topic {topic}")


def check_filter(topic_filter: object) -> None:
    """Check that this is a filter: a bare string does not say whether it includes or excludes.

    Raises:
        ConfigError: it is no filter; names the classes of filters.
    """
    if not isinstance(topic_filter, Whitelist | Blacklist):
        raise ConfigError(f"filter {topic_filter!r}: give a Whitelist('...') or a Blacklist('...')")


def check_stream_count(count: object, what: str) -> None:
    """Check that a number of streams is 1 or more.

    Raises:
        ConfigError: it is not; names the topic or filter.
    """
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"{what}: the number of streams must be 1 or more, not {count!r}")


def check_offsets(
    offsets: object,
) -> Mapping[TopicPartition, OffsetAndMetadata] | None:
    """Check that this is a map of offsets; return a copy, or None for None.

    Raises:
        ConfigError: it is not; names the wrong value.
    """
    if offsets is None:
        return None
    if not isinstance(offsets, Mapping):
        raise ConfigError(
            f"offsets {offsets!r}: give a map such as "
            "{TopicPartition('weblog', 0): OffsetAndMetadata(42)}"
        )
    for tp, offset in offsets.items():
        if not isinstance(tp, TopicPartition) or not isinstance(offset, OffsetAndMetadata):
            raise ConfigError(
                f"offset {offset!r} of {tp!r}: give an OffsetAndMetadata for each TopicPartition"
            )
        if tuple(map(type, (*tp, offset.offset, offset.metadata))) != (str, int, int, str):
            raise ConfigError(
                f"offset {offset!r} of {tp!r}: partition and offset are int, topic and metadata str"
            )
    return dict(offsets)
