"""Members that come, go and fall behind at random, each with a program that reads and commits.

Logs are numbers: to read is to note an offset and to go on to the next. The tests check what users
rely on: no offset is skipped, and none is read twice unless a member was notified that it had lost
the partition.
"""

import random

import pytest

from tests.support.control_bench import GROUP, Group
from tests.support.waiting import wait_until
from tests.support.zookeeper_member import TIMEOUT_MS, PolledMember, in_memory
from zkconsumer.errors import CommitFailed, RebalanceFailed
from zkconsumer.membership.protocol import Partitions, RevocationKind
from zkconsumer.model import OffsetAndMetadata, TopicPartition

PARTITIONS = 6
STEPS = 60


class ChurnProgram(PolledMember):
    """Reads a few offsets of each partition a round; commits them when polled or revoked."""

    def __init__(self, group: Group, read: list[tuple[TopicPartition, int]], **settings: object):
        self.read = read
        self.positions: dict[TopicPartition, int] = {}
        super().__init__(group, **settings)

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """Start at the group's committed offsets."""
        super().take_over(added, owned)
        found = self.membership.committed(added, timeout_ms=TIMEOUT_MS)
        for tp, it in found.items():
            self.positions[tp] = 0 if it is None else it.offset

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """Commit what was read, unless the partitions are lost."""
        if why is RevocationKind.REVOKED:
            self.commit(partitions)
        for tp in partitions:
            del self.positions[tp]
        super().give_up(partitions, why)

    def commit(self, partitions: Partitions) -> None:
        """Commit the positions of these partitions."""
        offsets = {tp: OffsetAndMetadata(self.positions[tp]) for tp in partitions}
        try:
            self.membership.commit(offsets, timeout_ms=TIMEOUT_MS)
        except CommitFailed:
            assert "lost" in str(self.received) or not partitions <= self.membership.deliverable()

    def turn(self) -> None:
        """Run one round of the program's loop."""
        try:
            self.membership.poll()
        except RebalanceFailed:
            return
        for tp in self.membership.deliverable():
            self.read += [(tp, self.positions[tp] + step) for step in range(3)]
            self.positions[tp] += 3
        self.commit(frozenset(self.positions))


def final_offsets(group: Group) -> dict[TopicPartition, int]:
    """Return the group's committed offsets."""
    return {
        TopicPartition("t", number): int(group.offset(number) or 0) for number in range(PARTITIONS)
    }


def churn(
    group: Group, seed: int, *, with_losses: bool
) -> tuple[list[tuple[TopicPartition, int]], str]:
    """Let programs come and go; return what all of them read, and which calls they got."""
    rng = random.Random(seed)
    read: list[tuple[TopicPartition, int]] = []
    settings = {"rebalance_backoff_ms": 40, "rebalance_max_retries": 5 if with_losses else 500}
    programs: list[ChurnProgram] = []
    gone: list[ChurnProgram] = []
    for _ in range(STEPS):
        dice = rng.random()
        if (dice < 0.1 and len(programs) < 4) or not programs:
            programs.append(ChurnProgram(group, read, **settings))
            programs[-1].membership.subscribe(frozenset("t"), open_ended=False)
        elif dice < 0.16 and len(programs) > 1:
            gone.append(programs.pop(rng.randrange(len(programs))))
            gone[-1].membership.close(TIMEOUT_MS)
        elif dice < 0.22 and with_losses:
            group.server.expire(rng.choice(programs).store.session_id)
        for program in programs:
            # A program that is busy for a while does not poll.
            if rng.random() < 0.8:
                program.turn()

    def owned() -> int:
        for program in programs:
            program.turn()
        return sum(len(program.membership.deliverable()) for program in programs) == PARTITIONS

    wait_until(owned, what="all partitions to be read in the end")
    for program in programs:
        program.membership.close(TIMEOUT_MS)
    return read, str([program.received for program in (*programs, *gone)])


@pytest.mark.parametrize("seed", range(4))
def test_with_orderly_hand_overs_every_offset_is_read_once(seed: int) -> None:
    """Members that come and go hand over exactly, although some are busy at the time."""
    group = in_memory()
    group.set_topic("t", PARTITIONS)
    read, received = churn(group, seed, with_losses=False)
    assert "lost" not in received
    assert len(read) == len(set(read))
    assert sorted(read) == [
        (tp, offset) for tp, end in final_offsets(group).items() for offset in range(end)
    ]
    assert group.ids() == [], GROUP


@pytest.mark.parametrize("seed", range(4))
def test_with_lost_sessions_no_offset_is_skipped(seed: int) -> None:
    """Busy members are not awaited for long either, so that some offsets are read again."""
    group = in_memory()
    group.set_topic("t", PARTITIONS)
    read, _ = churn(group, seed, with_losses=True)
    for tp, end in final_offsets(group).items():
        assert {offset for partition, offset in read if partition == tp} >= set(range(end))
