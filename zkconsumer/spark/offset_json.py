"""Encodes offsets, times and partitions as JSON, in the form of Spark's Kafka source. Pure.

``{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}``: by topic and partition; -2 stands for the earliest
offset and -1 for the latest, if an option allows them.
Source: Spark 4.2 ``JsonUtils``. Unlike in Spark, duplicate topics or partitions, fractions,
    numbers beyond 64 bits and partitions below 0 are refused.
"""

import json
from collections.abc import Mapping
from typing import NoReturn, TypeGuard

from zkconsumer.digits import is_decimal
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.printable import shown
from zkconsumer.wire.messages.list_offsets import EARLIEST_TIMESTAMP

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1
LONG_MIN = -(2**63)
OFFSETS_EXAMPLE = '{"topicA":{"0":23,"1":-1},"topicB":{"0":-2}}'
TIMES_EXAMPLE = '{"topicA":{"0":1700000000000},"topicB":{"0":1700000000000}}'
PARTITIONS_EXAMPLE = '{"topicA":[0,1],"topicB":[0,1]}'


def to_json(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Return offsets as a dictionary for JSON, with topics and partitions in order."""
    by_topic: dict[str, dict[str, int]] = {}
    for topic, partition in sorted(offsets):
        offset = offsets[TopicPartition(topic, partition)]
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return by_topic


def from_json(value: object, *, what: str = "offsets") -> dict[TopicPartition, int]:
    """Parse the result of ``to_json``, also after a round trip through JSON.

    Args:
        value: the parsed JSON.
        what: the option or file that the value comes from, for messages.

    Raises:
        ConfigError: the value is malformed; names ``what`` and the place in it.
    """
    numbers: dict[TopicPartition, int] = {}
    for topic, of_topic in _topics(value, what, OFFSETS_EXAMPLE).items():
        if not isinstance(of_topic, Mapping):
            _refuse(what, f"topic {topic} has {shown(of_topic)}", OFFSETS_EXAMPLE)
        for name, number in of_topic.items():
            tp = TopicPartition(topic, _partition(what, topic, name, OFFSETS_EXAMPLE))
            if tp in numbers:
                _refuse(what, f"it has {tp} twice", OFFSETS_EXAMPLE)
            if not isinstance(number, int) or isinstance(number, bool):
                _refuse(what, f"{tp} has {shown(number)}, not a whole number", OFFSETS_EXAMPLE)
            if not LONG_MIN <= number <= LONG_MAX:
                _refuse(what, f"{tp} has {shown(number)}, beyond 64 bits", OFFSETS_EXAMPLE)
            numbers[tp] = number
    return numbers


def read_offsets(option: str, text: str) -> dict[TopicPartition, int]:
    """Return offsets by partition; -2 is the earliest and -1 the latest.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    offsets = from_json(_parse(option, text, OFFSETS_EXAMPLE), what=option)
    for tp, offset in offsets.items():
        if offset < EARLIEST_TIMESTAMP:
            raise ConfigError(
                f"{option}: {tp} has offset {offset}: an offset is 0 or more, -2 for the earliest "
                "or -1 for the latest"
            )
    return offsets


def read_times(option: str, text: str) -> dict[TopicPartition, int]:
    """Return times by partition, in milliseconds since the epoch.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    times = from_json(_parse(option, text, TIMES_EXAMPLE), what=option)
    for tp, time_ms in times.items():
        if time_ms < 0:
            raise ConfigError(
                f"{option}: {tp} has time {time_ms}: give milliseconds since the epoch"
            )
    return times


def read_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Return partitions, sorted and without duplicates.

    Raises:
        ConfigError: the value is invalid; names the option.
    """
    found: set[TopicPartition] = set()
    parsed = _parse(option, text, PARTITIONS_EXAMPLE)
    for topic, numbers in _topics(parsed, option, PARTITIONS_EXAMPLE).items():
        if not isinstance(numbers, list):
            _refuse(option, f"topic {topic} has {shown(numbers)}", PARTITIONS_EXAMPLE)
        for number in numbers:
            partition = _partition(option, topic, number, PARTITIONS_EXAMPLE)
            found.add(TopicPartition(topic, partition))
    return tuple(sorted(found))


class _Repeated(ValueError):
    """A JSON object has a name twice."""


def _parse(option: str, text: str, example: str) -> object:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except _Repeated as error:
        _refuse(option, str(error), example)
    except (ValueError, RecursionError) as error:
        _refuse(option, f"{shown(text)} is no JSON ({error})", example)


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in pairs:
        if name in found:
            raise _Repeated(f"it has {name!r} twice")
        found[name] = value
    return found


def _topics(value: object, what: str, example: str) -> dict[str, object]:
    if not isinstance(value, Mapping):
        _refuse(what, f"{shown(value)} is no object", example)
    return {_name(topic, what, example): of_topic for topic, of_topic in value.items()}


def _name(topic: object, what: str, example: str) -> str:
    if not isinstance(topic, str) or not topic:
        _refuse(what, f"{shown(topic)} is no topic's name", example)
    return topic


def _partition(what: str, topic: str, value: object, example: str) -> int:
    number = int(value) if _is_numeral(value) else value
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= INT_MAX:
        _refuse(what, f"topic {topic} has {shown(value)} for a partition's number", example)
    return number


def _is_numeral(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and is_decimal(value, 10)


def _refuse(what: str, problem: str, example: str) -> NoReturn:
    raise ConfigError(f"{what}: {problem}; expected such as {example}")
