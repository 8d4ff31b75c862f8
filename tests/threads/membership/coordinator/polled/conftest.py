"""A coordinator without a network, and members that end with the test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.support.coordinator_double import CoordinatorDouble
from tests.support.group_members import QUICK, MemberInTest, tps
from zkconsumer.membership.coordinator.core.states import GroupSettings

MakeMember = Callable[..., MemberInTest]


@pytest.fixture
def broker() -> CoordinatorDouble:
    """A coordinator that knows the topic ``t`` with four partitions."""
    return CoordinatorDouble({"t": 4})


@pytest.fixture
def make() -> Iterator[MakeMember]:
    """Makes members, and closes those that the test has not closed."""
    with ExitStack() as members:

        def make(
            broker: CoordinatorDouble,
            *topics: str,
            settings: GroupSettings = QUICK,
            name: str = "member",
            request_timeout_ms: int = 5_000,
        ) -> MemberInTest:
            member = members.enter_context(
                MemberInTest(
                    broker,
                    broker,
                    settings=settings,
                    name=name,
                    request_timeout_ms=request_timeout_ms,
                )
            )
            return member.subscribe(*topics) if topics else member

        yield make


@pytest.fixture
def member(broker: CoordinatorDouble, make: MakeMember) -> MemberInTest:
    """A member that owns all partitions."""
    member = make(broker, "t")
    member.poll_until("all", lambda: member.has == tps("t", 0, 1, 2, 3))
    return member
