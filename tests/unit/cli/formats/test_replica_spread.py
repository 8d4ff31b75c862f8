"""Replicas of new partitions: as many as requested, on distinct brokers, spread evenly."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zkconsumer.cli.formats.replica_spread import spread_replicas
from zkconsumer.errors import ConfigError


@given(st.integers(1, 40), st.integers(1, 8), st.data())
def test_replicas_are_spread(partitions: int, brokers: int, data: st.DataObject) -> None:
    """No broker has two replicas of a partition, and leader counts differ by one at most."""
    replication = data.draw(st.integers(1, brokers))
    start = data.draw(st.integers(0, brokers - 1))
    ids = [10 * number for number in range(brokers)]
    found = spread_replicas(range(partitions), ids, replication, start=start)
    assert list(found) == list(range(partitions))
    for replicas in found.values():
        assert len(set(replicas)) == replication == len(replicas)
        assert set(replicas) <= set(ids)
    leaders = Counter(replicas[0] for replicas in found.values())
    assert max(leaders.values()) - min(leaders.get(member_id, 0) for member_id in ids) <= 1


def test_the_assignment_equals_the_original_s() -> None:
    """Ten partitions on five brokers, the example of ``AdminUtils.assignReplicasToBrokers``."""
    found = spread_replicas(range(10), [0, 1, 2, 3, 4], 3)
    assert found[0] == [0, 1, 2]
    assert found[5] == [0, 2, 3]
    assert found[9] == [4, 1, 2]


def test_more_replicas_than_brokers_are_refused() -> None:
    """Too high a replication factor is refused before anything is written."""
    with pytest.raises(ConfigError, match="3 replicas need as many brokers: there are 2"):
        spread_replicas(range(1), [0, 1], 3)
