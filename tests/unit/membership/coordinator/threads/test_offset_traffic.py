"""When the group thread sends commits and reads of offsets, by its clock."""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pytest

from tests.support.group_commits import at
from tests.support.threadless_session import COORDINATOR, SETTINGS, ThreadlessSession
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


class FailingConnection:
    """A connection on which every request fails.

    Attributes:
        error: the error of each call.
        timeouts_ms: the time-out of each call.
    """

    def __init__(self, error: ZkConsumerError) -> None:
        self.error = error
        self.timeouts_ms: list[int] = []

    def version_of(self, request: object, *, at_least: int = 0, at_most: int | None = None) -> int:
        """See ``NegotiatedConnection``."""
        assert request is OffsetFetchRequest
        assert (at_least, at_most) == (1, None)
        return 7

    def call(
        self, request: Request[R], *, timeout_ms: int, at_least: int = 0, at_most: int | None = None
    ) -> R:
        """See ``NegotiatedConnection``."""
        assert isinstance(request, OffsetCommitRequest | OffsetFetchRequest)
        assert (at_least, at_most) in {(1, None), (7, 7)}
        self.timeouts_ms.append(timeout_ms)
        raise self.error

    def close(self) -> None:
        """See ``NegotiatedConnection``."""


class TrafficBench:
    """The commits and reads of a consumer that assigns partitions to itself.

    Attributes:
        located: the result of a coordinator lookup.
        lookups: the number of lookups.
        ends: how many times the end of a read was reported.
    """

    def __init__(self) -> None:
        self.threadless = ThreadlessSession(replace(SETTINGS, request_timeout_ms=TIMEOUT_MS))
        self.session, self.jobs = self.threadless.session, self.threadless.jobs
        self.lookups = self.ends = 0
        self.located: Callable[[], Located] = lambda: ConnectFailed("nobody listens")
        self.traffic = OffsetTraffic(
            self.jobs, self.threadless.group_orders.connection, self._locate
        )

    def _locate(self) -> Located:
        self.lookups += 1
        return self.located()

    def find(self, error: ZkConsumerError) -> FailingConnection:
        """Let the lookup succeed, with a connection that fails with this error."""
        connection = FailingConnection(error)
        self.threadless.dialer.dial = lambda *_, **__: connection  # type: ignore[method-assign,assignment]
        self.located = lambda: self.session.location.set_address(COORDINATOR)
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
        """Send what is due ``count`` times; return the wait before each."""
        waits = []
        for _ in range(count):
            due_ms = self.jobs.next_due_ms()
            assert due_ms is not None
            wait_ms = max(0, due_ms - self.threadless.clock.now_ms())
            if wait_ms:
                self.threadless.clock.advance(wait_ms - 1)
                lookups = self.lookups
                self.traffic.send_due()
                assert self.lookups == lookups, "not a moment too early"
                self.threadless.clock.advance(1)
            self.traffic.send_due()
            waits.append(wait_ms)
        return waits


@pytest.fixture
def traffic() -> TrafficBench:
    """A consumer whose coordinator is not known."""
    return TrafficBench()


def test_nothing_is_due_without_commits_and_reads(traffic: TrafficBench) -> None:
    """The thread sleeps, and no lookup is made."""
    assert traffic.jobs.next_due_ms() is None
    traffic.traffic.send_due()
    assert traffic.lookups == 0


@pytest.mark.parametrize("kind", ["commit", "read"])
def test_commits_and_reads_are_sent_when_due(traffic: TrafficBench, kind: str) -> None:
    """The first attempt is made at once, the next after pauses that grow."""
    getattr(traffic, kind)()
    assert traffic.pauses_ms(4) == [0, 10, 20, 40]
    assert traffic.lookups == 4


def test_a_read_waits_for_a_commit_of_the_same_partition(traffic: TrafficBench) -> None:
    """Otherwise it would return the offset from before the commit."""
    connection = traffic.find(ConnectFailed("it broke"))
    commit = traffic.commit(deadline_ms=traffic.threadless.clock.now_ms() + 5)
    read = traffic.read()
    traffic.traffic.send_due()
    assert connection.timeouts_ms == [TIMEOUT_MS]
    traffic.threadless.clock.advance(5)
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
def test_without_a_coordinator_commits_and_reads_wait_and_fail_with_the_reason(
    traffic: TrafficBench, located: Callable[[], Located], reason: str
) -> None:
    """The errors have the reason once the time is over."""
    traffic.located = located
    commit, read = traffic.commit(deadline_ms=traffic.threadless.clock.now_ms() + 5), traffic.read()
    traffic.traffic.send_due()
    traffic.threadless.clock.advance(5)
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
def test_a_refused_lookup_ends_commits_and_reads(
    traffic: TrafficBench, located: Callable[[], Located], code: int
) -> None:
    """Waiting would not help, so both fail at once."""
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


def test_refused_credentials_end_commits_and_reads(traffic: TrafficBench) -> None:
    """Both fail with the error of the handshake."""
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
def test_a_commit_is_in_doubt_if_the_coordinator_may_have_received_it(
    traffic: TrafficBench, error: ZkConsumerError, *, doubtful: bool
) -> None:
    """It is not in doubt if no connection was opened to send it on."""
    traffic.find(error)
    commit = traffic.commit(deadline_ms=traffic.threadless.clock.now_ms() + 5)
    traffic.traffic.send_due()
    assert traffic.session.location.address is None
    traffic.threadless.clock.advance(5)
    traffic.traffic.send_due()
    assert isinstance(commit.error, OffsetCommitTimedOut)
    assert ("not known whether it is stored" in str(commit.error)) is doubtful
    assert str(error) in str(commit.error)


def test_the_timeout_of_a_read_grows_after_each_timeout(traffic: TrafficBench) -> None:
    """It grows up to request.timeout.ms, as a lost response must not delay heartbeats for long."""
    connection = traffic.find(RequestTimedOut("silence"))
    read = traffic.read()
    traffic.pauses_ms(3)
    assert connection.timeouts_ms == [3_000, 5_000, 5_000]
    assert "silence" in str(read.timed_out())


def test_the_timeout_of_a_read_does_not_grow_after_a_broken_connection(
    traffic: TrafficBench,
) -> None:
    """A broken connection is no time-out."""
    connection = traffic.find(ConnectFailed("it broke"))
    traffic.read()
    traffic.pauses_ms(2)
    assert connection.timeouts_ms == [3_000, 3_000]
