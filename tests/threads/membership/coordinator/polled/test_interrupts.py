"""A signal handler's exception anywhere in a poll: the next polls restore the membership."""

from dataclasses import replace
from functools import partial
from itertools import count

import pytest

from tests.support.coordinator_double import CoordinatorDouble
from tests.support.group_members import QUICK, MemberInTest, tps
from tests.support.interrupting import Interrupted, interrupt, interrupt_at_check
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.errors import RebalanceInProgressError
from zkconsumer.model import OffsetAndMetadata, TopicPartition

ALL = tps("t", 0, 1, 2, 3)
FIRST = TopicPartition("t", 0)


def committed(member: MemberInTest, offset: int) -> bool:
    """Try to commit; False while the group rebalances, in which a cooperative member owns on."""
    try:
        member.member.commit({FIRST: OffsetAndMetadata(offset)}, timeout_ms=5_000)
    except RebalanceInProgressError:
        return False
    return True


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_an_interrupted_poll_leaves_no_member_without_partitions(
    make: MakeMember, strategy: str
) -> None:
    """A revocation or take-over may be half done by then, and the member joins again."""
    broker = CoordinatorDouble({"t": 4})
    member = make(broker, "t", settings=replace(QUICK, strategies=(strategy,)))
    member.poll_until("all", lambda: member.has == ALL)
    uninterrupted = 0
    for address in count(step=5):
        member.member.rejoin()
        generation = member.member.generation

        def again(generation: int = generation) -> bool:
            return member.has == ALL == member.handler.owned and (
                member.member.generation > generation
            )

        try:
            if not interrupt_at_check(
                address, interrupt, lambda: member.poll_until("another round", again)
            ):
                uninterrupted += 1
        except Interrupted:
            member.poll_until("all again", again)
        member.poll_until("a commit", partial(committed, member, address))
        if uninterrupted == 2 or address > 600:
            return
