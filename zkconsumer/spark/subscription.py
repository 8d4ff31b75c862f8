"""The subscription of a query: topics, a topic pattern, or partitions. Pure.

Source: Spark 4.2 ``ConsumerStrategy`` (``SubscribeStrategy``, ``SubscribePatternStrategy``,
``AssignStrategy``) and ``KafkaSourceProvider.validateGeneralOptions``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from zkconsumer.assignment.filters import INTERNAL_TOPICS
from zkconsumer.assignment.java_charset import RegexRefused
from zkconsumer.assignment.java_regex import java_matcher
from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.printable import listed
from zkconsumer.spark.offset_json import read_partitions
from zkconsumer.topic_name import is_topic_name

SUBSCRIBE = "subscribe"
SUBSCRIBE_PATTERN = "subscribePattern"
ASSIGN = "assign"


@dataclass(frozen=True, slots=True)
class Topics:
    """The option ``subscribe``: all partitions of topics."""

    names: tuple[str, ...]

    def wanted(self, known: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions to read, sorted, among those of the cluster.

        Raises:
            ConfigError: a topic does not exist.
        """
        names = frozenset(self.names)
        found = sorted(tp for tp in known if tp.topic in names)
        missing = sorted(names.difference(tp.topic for tp in found))
        if missing:
            raise ConfigError(
                f"{SUBSCRIBE}: the cluster has no topic {listed(missing)}: check the spelling, or "
                "create the topic first"
            )
        return tuple(found)


@dataclass(frozen=True, slots=True)
class TopicPattern:
    """The option ``subscribePattern``: all partitions of topics whose whole name matches.

    The pattern is a Java regular expression. It never matches internal topics
    (``__consumer_offsets``), as in Spark, nor names that Kafka refuses. A pattern without a
    matching topic is not an error, since one may be created.

    Raises:
        ConfigError: the expression is invalid, or its meaning outside Java is not certain.
    """

    pattern: str
    _matches: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_matches", _matcher(self.pattern))

    def wanted(self, known: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions to read, sorted, among those of the cluster."""
        found = sorted(known)
        names = {tp.topic for tp in found} - INTERNAL_TOPICS
        # Brokers are not trusted, and names become paths.
        chosen = {topic for topic in names if is_topic_name(topic) and self._matches(topic)}
        return tuple(tp for tp in found if tp.topic in chosen)

    def __reduce__(self) -> "tuple[type[TopicPattern], tuple[str]]":
        # The matcher is a closure, which can't be pickled.
        return TopicPattern, (self.pattern,)


@dataclass(frozen=True, slots=True)
class Assigned:
    """The option ``assign``: exactly the given partitions."""

    partitions: tuple[TopicPartition, ...]

    def wanted(self, known: Iterable[TopicPartition]) -> tuple[TopicPartition, ...]:
        """Return the partitions to read, sorted.

        Raises:
            ConfigError: a partition does not exist.
        """
        missing = sorted(set(self.partitions).difference(known))
        if missing:
            raise ConfigError(
                f"{ASSIGN}: the cluster has no partition {listed(missing)}: check "
                "topics and numbers, which count from 0"
            )
        return self.partitions


Subscription = Topics | TopicPattern | Assigned


def read_subscription(options: Mapping[str, str]) -> Subscription:
    """Read whichever of the three options is given.

    Args:
        options: the options, by their names in lower case.

    Raises:
        ConfigError: none or several of the options are given, or the value is invalid.
    """
    given = [name for name in _READERS if name.lower() in options]
    if len(given) != 1:
        found = f"given are {' and '.join(given)}" if given else "none is given"
        raise ConfigError(f"exactly one of {', '.join(_READERS)} says what to read: {found}")
    return _READERS[given[0]](options[given[0].lower()])


def _read_topics(text: str) -> Topics:
    names = tuple(sorted({name for part in text.split(",") if (name := part.strip())}))
    if not names:
        raise ConfigError(f"{SUBSCRIBE} is {text!r}: name topics, such as 'clicks,orders'")
    for name in names:
        _check_topic(SUBSCRIBE, name)
    return Topics(names)


def _read_pattern(text: str) -> TopicPattern:
    if not text.strip():
        raise ConfigError(f"{SUBSCRIBE_PATTERN} is {text!r}: give a Java regular expression")
    return TopicPattern(text.strip())


def _read_assigned(text: str) -> Assigned:
    partitions = read_partitions(ASSIGN, text)
    if not partitions:
        raise ConfigError(f'{ASSIGN} is {text!r}: name partitions, such as {{"clicks":[0,1]}}')
    for tp in partitions:
        _check_topic(ASSIGN, tp.topic)
    return Assigned(partitions)


_READERS: Mapping[str, Callable[[str], Subscription]] = {
    SUBSCRIBE: _read_topics,
    SUBSCRIBE_PATTERN: _read_pattern,
    ASSIGN: _read_assigned,
}


def _check_topic(option: str, name: str) -> None:
    if not is_topic_name(name):
        raise ConfigError(
            f"{option}: {name!r} can't be a topic's name: letters, digits, '.', '_' and '-', at "
            "most 255 of them"
        )


def _matcher(pattern: str) -> Callable[[str], bool]:
    try:
        return java_matcher(pattern)
    except RegexRefused as error:
        raise ConfigError(f"{SUBSCRIBE_PATTERN} {pattern!r} can't be used: {error}") from error
