"""The thread that joins: what a leader's topics lead to."""

import pytest

from tests.support.coordinator_double import CoordinatorDouble
from tests.support.quiet_session import QuietSession
from zkconsumer.membership.coordinator.core import events as ev
from zkconsumer.membership.coordinator.threads.join_thread import JoinThread

ASSIGN = ev.Assign(
    1,
    "range",
    (ev.JoinedMember("me", frozenset({"t"})), ev.JoinedMember("other", frozenset({"u"}))),
)


def test_a_leader_joins_again_when_the_topics_of_its_group_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once for each change; a topic that it was not told of is none."""
    quiet = QuietSession()
    watched: list[frozenset[str]] = []
    thread = JoinThread(
        quiet.session,
        quiet.join_steps,
        quiet.caller,
        CoordinatorDouble({"t": 2}),
        request_timeout_ms=1_000,
        on_group_topics=watched.append,
    )
    triggered: list[ev.Event] = []
    monkeypatch.setattr(quiet.session, "notify", lambda event, **_settings: triggered.append(event))
    thread._execute(ASSIGN, None)
    (made,) = triggered
    assert isinstance(made, ev.AssignmentMade)
    assert watched == [frozenset({"t", "u"})]
    triggered.clear()
    thread.on_topics_changed({"t": (0, 1), "other": (0,)})
    assert triggered == []
    thread.on_topics_changed({"t": (0, 1), "u": (0,)})
    thread.on_topics_changed({"t": (0, 1), "u": (0,)})
    assert triggered == [ev.RejoinTriggered(ev.JoinReason.TOPICS)]
    triggered.clear()
    thread.forget_topics()
    thread.on_topics_changed({"t": (0,), "u": (0,)})
    assert triggered == []
