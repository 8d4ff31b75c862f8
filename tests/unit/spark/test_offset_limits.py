"""From the options for a query's start and end to offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from zkconsumer.errors import ConfigError
from zkconsumer.model import TopicPartition
from zkconsumer.spark.offset_limits import (
    AtTime,
    Exact,
    NamedLimit,
    OffsetLimit,
    resolve_ending,
    resolve_starting,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
BOTH = (T0, T1)


@dataclass
class TwoLogs:
    """Two logs, of the offsets 10 to 19 and 100 to 199; records which lookups it was asked for."""

    requested: list[str] = field(default_factory=list)

    def earliest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self.requested.append("earliest")
        return {tp: {T0: 10, T1: 100}[tp] for tp in partitions}

    def latest(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        self.requested.append("latest")
        return {tp: {T0: 20, T1: 200}[tp] for tp in partitions}

    def at_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {tp: min(self.latest([tp])[tp], time_ms) for tp, time_ms in times.items()}

    def until_time(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        return {tp: time_ms + 1 for tp, time_ms in times.items()}


def committed(partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int | None]:
    """Return committed offsets: the group has read some of the first partition."""
    return {tp: {T0: 15, T1: None}[tp] for tp in partitions}


@pytest.mark.parametrize(
    ("limit", "offsets"),
    [
        (NamedLimit.EARLIEST, (10, 100)),
        (NamedLimit.LATEST, (20, 200)),
        (NamedLimit.GROUP, (15, 100)),
        (Exact({T0: 12, T1: 150}), (12, 150)),
        (Exact({T0: -2, T1: -1}), (10, 200)),
        (Exact({T0: 0, T1: 999}), (0, 999)),
        (AtTime(11), (11, 11)),
        (AtTime({T0: 11, T1: 12}), (11, 12)),
        (AtTime({T0: 99, T1: 12}, latest_if_none=True), (20, 12)),
    ],
)
def test_a_query_starts_where_its_options_say(limit: OffsetLimit, offsets: tuple[int, int]) -> None:
    """A partition without a committed offset starts at its earliest offset."""
    found = resolve_starting(limit, BOTH, TwoLogs(), committed)
    assert (found[T0], found[T1]) == offsets


@pytest.mark.parametrize(
    ("limit", "offsets"),
    [
        (NamedLimit.LATEST, (20, 200)),
        (Exact({T0: 12, T1: -1}), (12, 200)),
        (AtTime(11), (12, 12)),
        (AtTime({T0: 11, T1: 12}), (12, 13)),
    ],
)
def test_a_query_ends_where_its_options_say(limit: OffsetLimit, offsets: tuple[int, int]) -> None:
    """An end by time includes every message before the time."""
    found = resolve_ending(limit, BOTH, TwoLogs())
    assert (found[T0], found[T1]) == offsets


def test_offsets_that_are_given_need_no_lookup() -> None:
    """Offsets that are given exactly need no lookup."""
    logs = TwoLogs()
    resolve_starting(Exact({T0: 12, T1: 150}), BOTH, logs)
    assert logs.requested == []
    resolve_starting(Exact({T0: -2, T1: 150}), BOTH, logs)
    assert logs.requested == ["earliest"]


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (Exact({T0: 1}), "startingOffsets must name every .* lacks t-1: give -2 for"),
        (Exact({}), "startingOffsets must name every .* lacks t-0, t-1"),
        (
            Exact({T0: 1, T1: 1, TopicPartition("u", 3): 1}),
            "startingOffsets names u-3, which the query does not read",
        ),
        (AtTime({T1: 1}), "startingOffsetsByTimestamp must name every .* lacks t-0$"),
        (
            AtTime({T0: 11, T1: 200}),
            "startingOffsetsByTimestamp: t-1 has no message as new as 200: .*Strategy to latest",
        ),
        (AtTime(20), "startingTimestamp: t-0 has no message as new as 20"),
    ],
)
def test_a_start_that_does_not_fit_is_refused(limit: OffsetLimit, message: str) -> None:
    """Starts must name every partition that is read and no other, and match existing messages."""
    with pytest.raises(ConfigError, match=f"^{message}"):
        resolve_starting(limit, BOTH, TwoLogs())


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        (Exact({T0: 1}), "endingOffsets must name every .* lacks t-1: give -1 for the latest"),
        (AtTime({T1: 1}), "endingOffsetsByTimestamp must name every .* lacks t-0"),
        (NamedLimit.EARLIEST, "endingOffsets is earliest: no query can end there"),
        (NamedLimit.GROUP, "endingOffsets is group: no query can end there"),
    ],
)
def test_an_end_that_does_not_fit_is_refused(limit: OffsetLimit, message: str) -> None:
    """An end that does not fit is refused under the name of its option."""
    with pytest.raises(ConfigError, match=f"^{message}"):
        resolve_ending(limit, BOTH, TwoLogs())


def test_no_partitions_need_no_offsets() -> None:
    """Without partitions, as of a pattern that matches none yet, no offsets are needed."""
    assert resolve_starting(AtTime(5), (), TwoLogs()) == {}
    assert resolve_starting(Exact({}), (), TwoLogs()) == {}
    assert resolve_ending(Exact({}), (), TwoLogs()) == {}


def test_only_the_first_of_many_partitions_are_named() -> None:
    """An error names only the first few of many partitions."""
    many = [TopicPartition("t", number) for number in range(1000)]
    with pytest.raises(ConfigError, match="t-9 and 990 more") as caught:
        resolve_starting(Exact({}), many, TwoLogs())
    assert len(str(caught.value)) < 300
