"""One group with Java's console consumer and with kafka-python, on every Kafka since 0.9.

Who comes first leads: it shares out for all. So each test goes through both orders.
"""

from collections.abc import Callable

import pytest

from tests.interop.coordinated.conftest import GroupOn
from tests.interop.coordinated.group import CoordinatorGroup
from tests.interop.coordinated.members import PollMember, all_values

VERSIONS = ("0.9.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.8.2", "3.9.1")
COUNT = 20
Join = Callable[[str], PollMember]


def take_turns(group: CoordinatorGroup, one: Join, other: Join) -> None:
    """Come and go in both orders, with messages at every step; each of them comes once."""
    topic = group.topic(4)
    all_four = group.partitions(topic, 4)
    sent: list[str] = []

    def goes_through(count: int) -> None:
        group.await_shared(all_four, count)
        sent.extend(group.write(all_four, COUNT))
        group.await_all(sent)

    first = one(topic)
    goes_through(1)
    second = other(topic)
    goes_through(2)
    group.await_committed()
    first.leave()
    goes_through(1)
    third = one(topic)
    goes_through(2)
    group.await_committed()
    second.leave()
    goes_through(1)
    group.await_committed()
    third.leave()
    assert all_values([first, second, third]) == sorted(sent)
    assert all(len(member.values) >= 2 * COUNT for member in (first, second, third))
    assert group.peek.look().shares == {}


@pytest.mark.sandbox
@pytest.mark.parametrize("version", VERSIONS)
def test_peers(group_on: GroupOn, version: str) -> None:
    """Each has its share and all comes once, whoever came first."""
    group = group_on(version)
    take_turns(group, group.kafka_python, group.java)
