"""Several members of both kinds join and leave at the same time, under load."""

from collections import Counter

import pytest

from tests.interop.members import Member
from tests.interop.mixed_group import MixedGroup

pytestmark = pytest.mark.sandbox
MOST_REPEATS = 4
FEW_TRIES = {"rebalance.max.retries": "12"}


def test_many_changes_at_once_settle_and_lose_nothing(group: MixedGroup) -> None:
    """Three of each kind join at once, four leave at once, and the last ones own all partitions."""
    topic = group.topic(6)
    names = ["a-ours", "b-scala", "c-ours", "d-scala", "e-ours", "f-scala"]
    a = group.ours({topic: 1}, "a-ours")
    group.await_values(group.write(1, topic), a)
    with group.traffic(topic):
        b, d, f = (group.scala(topic, name, settings=FEW_TRIES) for name in names[1::2])
        c = group.ours({topic: 2}, "c-ours")
        e = group.ours({topic: 1}, "e-ours")
        group.await_settled([topic], names)
        everyone: list[Member] = [a, b, c, d, e, f]
        group.await_values(list(group.writer.values), *everyone)

        b.request_leave()
        a.leave()
        d.request_leave()
        e.leave()
        group.await_settled([topic], ["c-ours", "f-scala"])
        g = group.scala(topic, "a-scala")
        f.leave()
        group.await_settled([topic], ["a-scala", "c-ours"])
        c.leave()
        group.await_settled([topic], ["a-scala"])
    group.await_values(group.writer.values, *everyone, g)
    delivered = Counter(value for member in (*everyone, g) for value in member.values)
    assert set(delivered) == set(group.writer.values)
    # The original may repeat the rest of a chunk when it leaves; ours only the current message.
    by_ours = Counter(value for member in (a, c, e) for value in member.values)
    assert (by_ours - Counter(group.writer.values)).total() <= MOST_REPEATS
    for scala in (b, d, f, g):
        scala.check_no_rebalance_failed()
