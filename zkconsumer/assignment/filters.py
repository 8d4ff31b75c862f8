"""Topic filters, and the topics that a registration's filter matches.

Source: Kafka 0.8.2.2 ``TopicFilter``, ``Whitelist``, ``Blacklist``, ``WildcardTopicCount``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from zkconsumer.assignment.filtering import FilterBudget, filter_problem, matching
from zkconsumer.assignment.java_charset import RegexRefused
from zkconsumer.assignment.java_regex import java_matcher
from zkconsumer.errors import ConfigError
from zkconsumer.zk.nodes import Pattern, Registration

INTERNAL_TOPICS = frozenset({"__consumer_offsets"})
"""Topics that filters leave out with ``exclude.internal.topics``."""

_JAVA_BLANKS = "".join(map(chr, range(0x21)))
_QUOTES = "\"'"


def normalised(text: str) -> str:
    """Return a filter's text as the original rewrites it: commas mean *or*, spaces and quotes go.

    So a count such as ``a{1,2}`` can't be written, and ``[a,b]`` also matches a bar. Rewriting the
    result again, as a member that reads a registration does, changes nothing.
    """
    return text.replace(",", "|").replace(" ", "").strip(_JAVA_BLANKS + _QUOTES)


@dataclass(frozen=True, slots=True)
class _Filter:
    """A Java regular expression that is matched against whole topic names.

    Args:
        text: the expression; see ``normalised`` for how it is rewritten first.

    Attributes:
        pattern: the expression as it is matched and registered.

    Raises:
        ConfigError: the expression is not valid, or its meaning outside Java is not certain.
    """

    text: str
    pattern: str = field(init=False)
    _matches: Callable[[str], bool] = field(init=False, repr=False, compare=False)
    _lets_matches_through: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ConfigError(f"filter {self.text!r}: a filter is a text")
        pattern = normalised(self.text)
        try:
            matches = java_matcher(pattern)
        except RegexRefused as error:
            raise ConfigError(filter_problem(pattern, str(error))) from error
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "_matches", matches)

    def allows(self, topic: str, *, exclude_internal: bool) -> bool:
        """Return whether the topic is to be read.

        Args:
            topic: its name.
            exclude_internal: whether to exclude the cluster's own topics always.

        Returns:
            True if it is to be read.

        Thread: any.
        """
        if exclude_internal and topic in INTERNAL_TOPICS:
            return False
        return self._matches(topic) is self._lets_matches_through


@dataclass(frozen=True, slots=True)
class Whitelist(_Filter):
    """Includes the topics whose whole name matches a Java regular expression.

    Attributes:
        text: the expression as it was given.
        pattern: the expression as it is matched and registered: commas mean *or*, spaces are
            dropped.

    Raises:
        ConfigError: it is not a valid expression, or its meaning outside Java is not certain.

    Source: Kafka 0.8.2.2 ``Whitelist``.

    Example:
        >>> Whitelist("web.*,sales").allows("weblog", exclude_internal=True)
        True
    """


@dataclass(frozen=True, slots=True)
class Blacklist(_Filter):
    """Includes the topics whose whole name does not match a Java regular expression.

    Attributes:
        text: the expression as it was given.
        pattern: the expression as it is matched and registered: commas mean *or*, spaces are
            dropped.

    Raises:
        ConfigError: it is not a valid expression, or its meaning outside Java is not certain.

    Source: Kafka 0.8.2.2 ``Blacklist``.

    Example:
        >>> Blacklist("test-.*").allows("weblog", exclude_internal=True)
        True
    """

    _lets_matches_through: ClassVar[bool] = False


def expand(
    registration: Registration,
    all_topics: Iterable[str],
    *,
    exclude_internal: bool,
    budget: FilterBudget | None = None,
) -> dict[str, int]:
    """Return the topics of a member's registration, each with its number of streams.

    Args:
        registration: the registration of any member of the group.
        all_topics: the children of ``/brokers/topics``, in ZooKeeper's order, which decides between
            partitions of equal hash, see ``java_order``.
        exclude_internal: ``exclude.internal.topics`` of the member that *computes*.
        budget: the steps left for all registrations, which are expanded in the order of their
            names; None: a new budget for this one.

    Returns:
        For named topics, the registration's counts, in its order; for a wildcard, the topics that
        match, in the order of ``all_topics``.

    Raises:
        FilterRefused: the filter is not certain to mean the same outside Java, or takes too many
            steps.
    """
    subscription = registration.subscription
    if registration.pattern is Pattern.STATIC or not subscription:
        return dict(subscription)
    text, stream_count = next(iter(subscription.items()))
    wanted = registration.pattern is Pattern.WHITE_LIST
    names = tuple(all_topics)
    matches = matching(normalised(text), names, budget or FilterBudget())
    return {
        topic: stream_count
        for topic, found in zip(names, matches, strict=True)
        if found is wanted and not (exclude_internal and topic in INTERNAL_TOPICS)
    }
