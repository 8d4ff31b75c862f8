"""Members of two kinds join, leave and crash all the time, while messages are written."""

import itertools
from collections import Counter

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.members import ClientMember, all_values
from tests.interop.traffic import Traffic
from tests.support.waiting import wait_until

ROUNDS = 3


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("version", "strategy"),
    [("0.10.2.2", "sticky"), ("3.9.1", "cooperative-sticky")],
)
def test_churn(group_on: GroupOn, version: str, strategy: str) -> None:
    """No message is missing, and few come twice except for those of crashed members."""
    group = group_on(version, strategy)
    topic = group.topic(6)
    six = group.partitions(topic, 6)
    stays = group.ours(topic)
    crashed: list[str] = []
    kinds = itertools.cycle([group.ours, group.kafka_python])
    with Traffic(group.writer, six):
        for number in range(ROUNDS):
            guest: ClientMember = next(kinds)(topic, session_timeout_ms=3000)
            other = group.ours(topic)
            wait_until(lambda item=guest: item.values, what="the guest's first record")  # type: ignore[misc]
            if number % 3 == 2:
                guest.kill()
                crashed += guest.values
            else:
                guest.leave()
            wait_until(lambda item=other: item.values, what="the other's first record")  # type: ignore[misc]
            other.leave()
    group.await_shared(six, 1)
    group.await_all(group.writer.values)
    group.await_committed()
    values = Counter(all_values(group.members))
    assert values.keys() == set(group.writer.values)
    again = {value for value, count in values.items() if count > 1}
    assert len(again - set(crashed)) < len(values) / 20, (len(again), len(values), len(crashed))
    assert stays.reported("lost") == []
    for member in group.members:
        assert isinstance(member, ClientMember)
        assert member.failures == []
