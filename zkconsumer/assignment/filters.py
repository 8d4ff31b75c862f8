"""Filters of topics, and what a registration's wildcard stands for.

Source: Kafka 0.8.2.2 ``TopicFilter``, ``Whitelist``, ``Blacklist``, ``WildcardTopicCount``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from zkconsumer.assignment.java_charset import RegexRefused
from zkconsumer.assignment.java_regex import java_matcher, translate
from zkconsumer.errors import ConfigError
from zkconsumer.zk.nodes import Pattern, Registration

INTERNAL_TOPICS = frozenset({"__consumer_offsets"})
"""Topics that filters leave out with ``exclude.internal.topics``."""

_JAVA_BLANKS = "".join(map(chr, range(0x21)))
_QUOTES = "\"'"
_ODD_LINE_ENDS = "\x85\u2028\u2029"


def normalised(text: str) -> str:
    """A filter's text as the original rewrites it: commas mean *or*, blanks and quotes go.

    So a count such as ``a{1,2}`` can't be written, and ``[a,b]`` also matches a bar. It is done
    until nothing is left to rewrite: whoever reads a registration rewrites what was rewritten.
    """
    while (bare := _rewritten(text)) != text:
        text = bare
    return text


def _rewritten(text: str) -> str:
    bare = text.strip(_JAVA_BLANKS).replace(",", "|").replace(" ", "")
    return bare.lstrip(_QUOTES).rstrip(_QUOTES)


@dataclass(frozen=True, slots=True)
class _Filter:
    """A Java regular expression that is held against whole names of topics.

    Args:
        text: the expression; see ``normalised`` for what happens to it first.

    Attributes:
        pattern: the expression as it is used and registered.

    Raises:
        ConfigError: no valid expression, or one whose meaning outside Java is not certain.
    """

    text: str
    pattern: str = field(init=False)
    _matches: Callable[[str], bool] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(f"filter {self.text!r}: a filter is a text")
        pattern = normalised(self.text)
        if any(char in pattern for char in _ODD_LINE_ENDS):
            raise ConfigError(f"filter {pattern!r}: it holds a line separator")
        if any("\ud800" <= char <= "\udfff" for char in pattern):
            raise ConfigError(f"filter {pattern!r}: it holds what is not a character")
        try:
            matches = java_matcher(pattern)
        except RegexRefused as error:
            raise ConfigError(f"filter '{pattern}' can't be used: {error}") from error
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "_matches", matches)


@dataclass(frozen=True, slots=True)
class Whitelist(_Filter):
    """Lets through the topics whose whole name matches a Java regular expression."""

    def allows(self, topic: str, *, exclude_internal: bool) -> bool:
        """Whether the topic is one to read."""
        return self._matches(topic) and not (exclude_internal and topic in INTERNAL_TOPICS)


@dataclass(frozen=True, slots=True)
class Blacklist(_Filter):
    """Lets through the topics whose whole name does not match a Java regular expression."""

    def allows(self, topic: str, *, exclude_internal: bool) -> bool:
        """Whether the topic is one to read."""
        return not self._matches(topic) and not (exclude_internal and topic in INTERNAL_TOPICS)


def python_pattern(topic_filter: Whitelist | Blacklist) -> str:
    """A filter of whole names in Java's syntax as a pattern for the starts of names in Python's."""
    whole = rf"(?:{translate(topic_filter.pattern)})\Z"
    return whole if isinstance(topic_filter, Whitelist) else rf"(?!{whole})"


def expand(
    registration: Registration, all_topics: Iterable[str], *, exclude_internal: bool
) -> dict[str, int]:
    """Number of streams by topic that a member's registration stands for.

    Args:
        registration: of any member of the group.
        all_topics: the children of ``/brokers/topics``.
        exclude_internal: ``exclude.internal.topics`` of the member that *computes*.

    Returns:
        For named topics, what is written, in that order; for a wildcard, the topics that match,
        sorted by name. (Scala members take the order in which ZooKeeper lists them. It matters
        only between partitions of equal hash, see ``java_order``.)

    Raises:
        ConfigError: the member's filter is not certain to mean the same outside Java.
    """
    subscription = registration.subscription
    if registration.pattern is Pattern.STATIC or not subscription:
        return dict(subscription)
    text, stream_count = next(iter(subscription.items()))
    listed = Whitelist(text) if registration.pattern is Pattern.WHITE_LIST else Blacklist(text)
    return {
        topic: stream_count
        for topic in sorted(all_topics)
        if listed.allows(topic, exclude_internal=exclude_internal)
    }
