"""The thread that sends JoinGroup and SyncGroup, run step by step by the test."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import cast

import pytest

from tests.support.coordinator_double import CoordinatorDouble
from tests.support.threadless_session import COORDINATOR, SETTINGS, ThreadlessSession
from zkconsumer.assignment.coordinated.view import MemberView
from zkconsumer.cluster.cluster_client import ClusterClient
from zkconsumer.cluster.view import ClusterView
from zkconsumer.error_codes import ErrorCode
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.join_thread import JoinThread
from zkconsumer.wire.api import Request
from zkconsumer.wire.messages.group_members import JoinGroupRequest, JoinGroupResponse

ASSIGN = ev.Assign(
    1,
    "range",
    {"me": MemberView(topics=frozenset({"t"})), "other": MemberView(topics=frozenset({"u"}))},
)


def thread_of(
    threadless: ThreadlessSession,
    cluster: CoordinatorDouble,
    on_group_topics: Callable[[frozenset[str]], None] = lambda _topics: None,
) -> JoinThread:
    """Return the join thread of a session, which is not started."""
    return JoinThread(
        threadless.session,
        threadless.join_steps,
        threadless.caller,
        cast("ClusterClient", cluster),
        on_group_topics,
    )


def test_a_leader_joins_again_when_the_topics_of_its_group_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It joins once per change; changes of topics that the group does not read don't count."""
    threadless = ThreadlessSession()
    threadless.events.report(ev.Subscribed(frozenset({"t"})))
    watched: list[frozenset[str]] = []
    thread = thread_of(threadless, CoordinatorDouble({"t": 2}), watched.append)
    triggered: list[ev.Event] = []
    monkeypatch.setattr(
        threadless.session, "notify", lambda event, **_settings: triggered.append(event)
    )
    thread._execute(ASSIGN, None)
    (assigned,) = triggered
    assert isinstance(assigned, ev.AssignmentMade)
    assert watched == [frozenset({"t", "u"})]
    triggered.clear()
    thread.on_topics_changed({"t": (0, 1), "other": (0,)})
    assert triggered == []
    thread.on_topics_changed({"t": (0, 1), "u": (0,)})
    thread.on_topics_changed({"t": (0, 1), "u": (0,)})
    assert triggered == [ev.RejoinTriggered(ev.JoinReason.TOPICS)]
    triggered.clear()
    thread.forget_topics()
    assert watched[1:] == [frozenset()]
    thread.on_topics_changed({"t": (0,), "u": (0,)})
    assert triggered == []


class RecordingCluster(CoordinatorDouble):
    """A cluster that records the time-out of each metadata request.

    Attributes:
        on_view: called for each metadata request.
    """

    def __init__(self, partitions: Mapping[str, int]) -> None:
        super().__init__(partitions)
        self.timeouts: list[int] = []
        self.on_view: Callable[[], None] = lambda: None

    def view(self, topics: Collection[str] | None = None, *, timeout_ms: int = 0) -> ClusterView:
        """See ``ClusterClient``."""
        self.timeouts.append(timeout_ms)
        self.on_view()
        return super().view(topics, timeout_ms=timeout_ms)


def test_a_leader_reads_the_topics_of_its_group_within_a_request_timeout() -> None:
    """A silent cluster must not block the group for ever."""
    threadless = ThreadlessSession(replace(SETTINGS, request_timeout_ms=1_234))
    cluster = RecordingCluster({"t": 2})
    thread = thread_of(threadless, cluster)
    thread._execute(ASSIGN, None)
    assert cluster.timeouts == [1_234]


def test_a_leader_that_leaves_while_it_assigns_watches_no_topics_of_its_group() -> None:
    """The lookup of their partitions takes a while: the caller may unsubscribe meanwhile."""
    threadless = ThreadlessSession()
    threadless.events.report(ev.Subscribed(frozenset({"t"})))
    cluster = RecordingCluster({"t": 2})
    watched: list[frozenset[str]] = []
    thread = thread_of(threadless, cluster, watched.append)

    def leave() -> None:
        threadless.events.leave()
        thread.forget_topics()

    cluster.on_view = leave
    thread._execute(ASSIGN, None)
    thread._execute(ASSIGN, None)
    assert set(watched) == {frozenset()}
    assert thread._led_topics == {}


class JoinConnection:
    """A connection with one response to JoinGroup.

    Args:
        code: the error code of the response.
        on_call: called before the response is returned.
    """

    def __init__(self, code: int, on_call: Callable[[], None]) -> None:
        self._code = code
        self._on_call = on_call

    def version_of(self, request: object, *, at_least: int = 0, at_most: int | None = None) -> int:
        """See ``NegotiatedConnection``."""
        assert (request, at_least, at_most) == (JoinGroupRequest, 0, None)
        return 5

    def call(
        self,
        request: Request[object],
        *,
        timeout_ms: int,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> object:
        """See ``NegotiatedConnection``."""
        assert isinstance(request, JoinGroupRequest)
        # The time-out is the rebalance time-out plus five seconds.
        assert (timeout_ms, at_least, at_most) == (305_000, 5, 5)
        self._on_call()
        return JoinGroupResponse(
            error_code=self._code,
            generation_id=1,
            protocol_name="range",
            leader="other",
            member_id="me",
            members=(),
        )

    def close(self) -> None:
        """See ``NegotiatedConnection``."""


@pytest.mark.parametrize(
    ("code", "rests"), [(ErrorCode.NONE, False), (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True)]
)
def test_a_successful_join_resets_the_pauses_of_coordinator_lookups(
    code: ErrorCode, *, rests: bool
) -> None:
    """If it is lost it is looked up at once: failures from before the join no longer count."""
    threadless = ThreadlessSession()
    session = threadless.session
    thread = thread_of(threadless, CoordinatorDouble({"t": 2}))
    connection = JoinConnection(code, thread.stop)
    threadless.dialer.dial = lambda *_args, **_settings: connection  # type: ignore[method-assign,assignment]
    session.location.set_address(COORDINATOR)
    session.location.forget()
    threadless.events.report(ev.Subscribed(frozenset({"t"})))
    threadless.poll()
    (search,) = threadless.orders()
    assert isinstance(search, ev.FindCoordinator)
    address = session.location.set_address(COORDINATOR)
    session.notify(ev.CoordinatorLocated(search.round))
    thread.run()
    session.location.invalidate(address)
    assert session.location.is_backing_off is rests
