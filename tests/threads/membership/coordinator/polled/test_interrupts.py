"""A signal handler's exception in a poll, wherever it strikes: the next polls make a member."""

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
    """Commit as the error tells: a cooperative member keeps what it has while it joins anew."""
    try:
        member.member.commit({FIRST: OffsetAndMetadata(offset)}, timeout_ms=5_000)
    except RebalanceInProgressError:
        return False
    return True


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_poll_that_is_broken_off_leaves_no_member_without_records(
    make: MakeMember, strategy: str
) -> None:
    """What is given up and taken over in it may be half done: then it joins anew."""
    broker = CoordinatorDouble({"t": 4})
    member = make(broker, "t", settings=replace(QUICK, strategies=(strategy,)))
    member.poll_until("all", lambda: member.has == ALL)
    unheard = 0
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
                unheard += 1
        except Interrupted:
            member.poll_until("all again", again)
        member.poll_until("a commit", partial(committed, member, address))
        if unheard == 2 or address > 600:
            return
