"""Commits and reads of the group thread, as they become due by its clock."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.support.group_commits import at
from tests.support.quiet_session import COORDINATOR, QuietSession
from zkconsumer.error_codes import ErrorCode, explained
from zkconsumer.errors import (
    AuthenticationFailed,
    ConnectFailed,
    GroupFailed,
    OffsetCommitTimedOut,
    RequestTimedOut,
    ZkConsumerError,
)
from zkconsumer.membership.coordinator.core.commit_job import CommitJob
from zkconsumer.membership.coordinator.core.read_job import ReadJob
from zkconsumer.membership.coordinator.threads.offset_traffic import Located, OffsetTraffic
from zkconsumer.model import TopicPartition
from zkconsumer.wire.api import Request
from zkconsumer.wire.messages.offset_commit import OffsetCommitRequest
from zkconsumer.wire.messages.offset_fetch import OffsetFetchRequest

R = TypeVar("R")
T0 = TopicPartition("t", 0)
TIMEOUT_MS = 5_000


class Silent:
    """A connection on which requests come to nothing.

    Attributes:
        error: what each call ends with.
        timeouts_ms: how long each might have taken.
    """

    def __init__(self, error: ZkConsumerError) -> None:
        self.error = error
        self.timeouts_ms: list[int] = []

    def version_of(self, request: object, *, at_least: int = 0, at_most: int | None = None) -> int:
        """See ``Connection``."""
        assert request is OffsetFetchRequest
        assert (at_least, at_most) == (1, None)
        return 7

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """See ``Connection``."""
        assert isinstance(request, OffsetCommitRequest | OffsetFetchRequest)
        assert (at_least, at_most) in {(1, None), (7, 7)}
        self.timeouts_ms.append(timeout_ms)
        raise self.error

    def close(self) -> None:
        """See ``Connection``."""


class Traffic:
    """The offsets of a consumer that assigns partitions to itself.

    Attributes:
        located: what looking for the coordinator ends with.
        looks: how often it was looked for.
        ends: how often a read's caller was told of its end.
    """

    def __init__(self) -> None:
        self.quiet = QuietSession()
        self.session, self.jobs = self.quiet.session, self.quiet.jobs
        self.looks = self.ends = 0
        self.located: Callable[[], Located] = lambda: ConnectFailed("nobody listens")
        self.traffic = OffsetTraffic(
            self.jobs, self.quiet.group_orders.connection, self._locate, timeout_ms=TIMEOUT_MS
        )

    def _locate(self) -> Located:
        self.looks += 1
        return self.located()

    def find(self, error: ZkConsumerError) -> Silent:
        """Let there be a coordinator, whose connection fails so."""
        connection = Silent(error)
        self.quiet.dialer.dial = lambda *_args, **_settings: connection  # type: ignore[method-assign]
        self.located = lambda: self.session.location.found(COORDINATOR)
        return connection

    def commit(self, deadline_ms: int = 1_000_000) -> CommitJob:
        """Queue a commit."""
        job = CommitJob("g", at(7), take_overs=None, deadline_ms=deadline_ms)
        self.jobs.commits.add(job)
        return job

    def read(self) -> ReadJob:
        """Queue a read."""
        job = ReadJob("g", [T0], on_end=self._ended)
        self.jobs._reads.append(job)
        return job

    def _ended(self) -> None:
        self.ends += 1

    def pauses_ms(self, count: int) -> list[int]:
        """Let what is due be sent so many times; gives how long it waited before each."""
        waits = []
        for _ in range(count):
            due_ms = self.jobs.next_due_ms()
            assert due_ms is not None
            wait_ms = max(0, due_ms - self.quiet.clock.now_ms())
            if wait_ms:
                self.quiet.clock.advance(wait_ms - 1)
                looks = self.looks
                self.traffic.send_due()
                assert self.looks == looks, "not a moment too early"
                self.quiet.clock.advance(1)
            self.traffic.send_due()
            waits.append(wait_ms)
        return waits


@pytest.fixture
def traffic() -> Traffic:
    """One without a coordinator."""
    return Traffic()


def test_nothing_is_due_where_nothing_is_asked_for(traffic: Traffic) -> None:
    """The thread sleeps, and looks for nobody."""
    assert traffic.jobs.next_due_ms() is None
    traffic.traffic.send_due()
    assert traffic.looks == 0


@pytest.mark.parametrize("kind", ["commit", "read"])
def test_what_is_due_is_tried_in_that_very_moment(traffic: Traffic, kind: str) -> None:
    """At once, and then after pauses that grow."""
    getattr(traffic, kind)()
    assert traffic.pauses_ms(4) == [0, 10, 20, 40]
    assert traffic.looks == 4


def test_a_read_waits_for_a_commit_of_the_same_partition(traffic: Traffic) -> None:
    """Else it would find what was before."""
    connection = traffic.find(ConnectFailed("it broke"))
    commit = traffic.commit(deadline_ms=traffic.quiet.clock.now_ms() + 5)
    read = traffic.read()
    traffic.traffic.send_due()
    assert connection.timeouts_ms == [TIMEOUT_MS]
    traffic.quiet.clock.advance(5)
    traffic.traffic.send_due()
    traffic.traffic.send_due()
    assert (commit.is_settled, read.ended) == (True, False)
    assert connection.timeouts_ms == [TIMEOUT_MS, 3_000]


@pytest.mark.parametrize(
    ("located", "reason"),
    [
        (
            lambda: ConnectFailed("nobody listens"),
            "the group's coordinator could not be looked up: nobody listens",
        ),
        (
            lambda: int(ErrorCode.COORDINATOR_NOT_AVAILABLE),
            f"FindCoordinator was refused with {explained(ErrorCode.COORDINATOR_NOT_AVAILABLE)}",
        ),
    ],
)
def test_without_a_coordinator_both_wait_and_know_why(
    traffic: Traffic, located: Callable[[], Located], reason: str
) -> None:
    """The reason is in the error, once the time is over."""
    traffic.located = located
    commit, read = traffic.commit(deadline_ms=traffic.quiet.clock.now_ms() + 5), traffic.read()
    traffic.traffic.send_due()
    traffic.quiet.clock.advance(5)
    traffic.traffic.send_due()
    assert isinstance(commit.error, OffsetCommitTimedOut)
    assert reason in str(commit.error)
    traffic.traffic.send_due()
    assert (read.ended, traffic.ends) == (False, 0)
    assert reason in str(read.timed_out())


@pytest.mark.parametrize(
    ("located", "code"),
    [
        (lambda: int(ErrorCode.GROUP_AUTHORIZATION_FAILED), ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (lambda: GroupFailed("g", "too old", code=35), 35),
    ],
)
def test_a_group_that_has_no_coordinator_for_us_ends_both(
    traffic: Traffic, located: Callable[[], Located], code: int
) -> None:
    """Waiting would not help; the caller is told at once."""
    traffic.located = located
    commit = traffic.commit()
    traffic.traffic.send_due()
    assert isinstance(commit.error, GroupFailed)
    assert (commit.error.group_id, commit.error.code) == ("g", code)
    assert list(traffic.jobs._ended) == [commit]
    read = traffic.read()
    traffic.traffic.send_due()
    assert isinstance(read.error, GroupFailed)
    assert (read.error.code, traffic.ends) == (code, 1)


def test_refused_credentials_end_both(traffic: Traffic) -> None:
    """With the error of the handshake."""
    error = AuthenticationFailed("the broker refuses the password")
    traffic.located = lambda: error
    commit = traffic.commit()
    traffic.traffic.send_due()
    read = traffic.read()
    traffic.traffic.send_due()
    assert (commit.error, read.error) == (error, error)


@pytest.mark.parametrize(
    ("error", "doubtful"), [(ConnectFailed("nobody"), False), (RequestTimedOut("silence"), True)]
)
def test_a_commit_is_in_doubt_where_the_coordinator_may_have_it(
    traffic: Traffic, error: ZkConsumerError, *, doubtful: bool
) -> None:
    """Not where there was no connection to send it on."""
    traffic.find(error)
    commit = traffic.commit(deadline_ms=traffic.quiet.clock.now_ms() + 5)
    traffic.traffic.send_due()
    assert traffic.session.location.address is None
    traffic.quiet.clock.advance(5)
    traffic.traffic.send_due()
    assert isinstance(commit.error, OffsetCommitTimedOut)
    assert ("not known whether it is stored" in str(commit.error)) is doubtful
    assert str(error) in str(commit.error)


def test_a_read_has_more_time_after_each_silence(traffic: Traffic) -> None:
    """Up to request.timeout.ms: a lost response must not hold up the heartbeats for long."""
    connection = traffic.find(RequestTimedOut("silence"))
    read = traffic.read()
    traffic.pauses_ms(3)
    assert connection.timeouts_ms == [3_000, 5_000, 5_000]
    assert "silence" in str(read.timed_out())


def test_a_read_has_no_more_time_after_a_connection_that_broke(traffic: Traffic) -> None:
    """That was no silence."""
    connection = traffic.find(ConnectFailed("it broke"))
    traffic.read()
    traffic.pauses_ms(2)
    assert connection.timeouts_ms == [3_000, 3_000]
