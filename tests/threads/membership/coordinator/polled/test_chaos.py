"""Several members, with their threads, while their coordinator fails in many ways; seeded."""

import random
from dataclasses import replace
from itertools import combinations

import pytest

from tests.support.coordinator_double import HERE, CoordinatorDouble
from tests.support.group_members import QUICK, MemberInTest, poll_until, tps
from tests.threads.membership.coordinator.polled.conftest import MakeMember
from zkconsumer.error_codes import ErrorCode
from zkconsumer.errors import CommitFailed, OffsetCommitFailed
from zkconsumer.membership.protocol import Offsets
from zkconsumer.model import OffsetAndMetadata
from zkconsumer.scope import wait_ms
from zkconsumer.wire.messages.group_members import JoinGroupRequest, SyncGroupRequest
from zkconsumer.wire.messages.heartbeat import HeartbeatRequest
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest

ALL = tps("t", *range(6))
KINDS = (HeartbeatRequest, JoinGroupRequest, SyncGroupRequest, OffsetCommitRequest)
CODES = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
SETTINGS = replace(QUICK, session_timeout_ms=800, heartbeat_interval_ms=30)


class Failures:
    """What goes wrong with the coordinator, one failure after another."""

    def __init__(self, broker: CoordinatorDouble, seed: int) -> None:
        self._broker = broker
        self._random = random.Random(seed)

    def fail_or_recover(self) -> None:
        """Cause a failure, or end them all."""
        broker, kind = self._broker, self._random.choice(KINDS)
        match self._random.randrange(7):
            case 0:
                broker.break_connections()
            case 1:
                broker.silent.add(kind)
            case 2:
                broker.refuse(kind, self._random.choice(CODES))
            case 3:
                broker.found = ErrorCode.COORDINATOR_NOT_AVAILABLE
            case 4:
                broker.break_connections()
                with broker.lock:
                    broker.group.move(broker.now_ms())
            case _:
                self.recover()

    def recover(self) -> None:
        """End all failures; requests that got no response stay without one."""
        self._broker.silent.clear()
        self._broker.found = HERE


class CommittingMember:
    """A member that commits growing offsets of its partitions, and notes the outcomes."""

    def __init__(self, member: MemberInTest, first: int) -> None:
        self.member = member
        self.done: list[Offsets] = []
        self.refused = 0
        self._offset = first

    def read(self) -> None:
        """Poll once and commit."""
        self.member.member.poll()
        self._offset += 10
        share = self.member.has
        if share:
            offsets = dict.fromkeys(share, OffsetAndMetadata(self._offset))
            self.member.member.commit_async(offsets, self._received)

    def _received(self, offsets: Offsets, error: Exception | None) -> None:
        if error is None:
            self.done.append(offsets)
        else:
            assert isinstance(error, CommitFailed | OffsetCommitFailed)
            self.refused += 1


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
@pytest.mark.parametrize("seed", range(2))
def test_a_group_survives_failures_of_its_coordinator(
    make: MakeMember, strategy: str, seed: int
) -> None:
    """No partition has two owners, no successful commit is lost, and the group recovers."""
    broker = CoordinatorDouble({"t": 6})
    settings = replace(SETTINGS, strategies=(strategy,))
    members = [
        make(broker, "t", settings=settings, name=f"m{number}", request_timeout_ms=400)
        for number in range(3)
    ]
    readers = [CommittingMember(member, number) for number, member in enumerate(members)]
    failures = Failures(broker, seed)
    rng = random.Random(seed)
    for _ in range(150):
        if rng.random() < 0.2:
            failures.fail_or_recover()
        for reader in rng.sample(readers, rng.randrange(len(readers) + 1)):
            reader.read()
        for member, other in combinations(members, 2):
            assert not member.has & other.has
        wait_ms(rng.randrange(10))
    failures.recover()
    poll_until(
        "all is shared evenly",
        lambda: all(len(member.has) == 2 for member in members),
        *members,
    )
    for reader in readers:
        reader.member.close()
    for reader in readers:
        for offsets in reader.done:
            for tp, position in offsets.items():
                assert any(
                    which == tp and at >= position.offset and at % 10 == position.offset % 10
                    for which, at in broker.history
                )
    assert any(reader.done for reader in readers)
    assert ALL.issuperset(broker.offsets)
