"""The structured log: every event as a line, and as a flat dict that can be JSON."""

import json
import logging
from dataclasses import fields
from typing import get_args

import pytest

from tests.support.chunks import chunk_of
from tests.support.control_bench import Group
from tests.support.manual_clock import ManualClock
from zkconsumer.membership.zookeeper.threads.logging_observer import LoggingObserver
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    Created,
    DeliveryPaused,
    DeliveryResumed,
    ErrorSeen,
    Event,
    Fetched,
    Joined,
    LeaderLost,
    Left,
    MemberName,
    MessagePoisoned,
    OrphansSeen,
    PartitionsBlocked,
    PartitionsClaimed,
    PartitionsLost,
    PartitionsReleased,
    PositionReset,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
    SessionChanged,
)

AUDIT_MS = 10_000
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
A0 = ConsumerThreadId("g_a", 0)
MEMBER = MemberName("g", "g_a")


EVERY_EVENT: list[Event] = [
    Created(version="1.0", python="CPython 3.13.0", engine="pure", crc="zlib", why="no compiler"),
    SessionChanged("LOST", 0x1234),
    Joined(5),
    Left(),
    RebalanceStarted("members changed"),
    RebalanceStep("Claim", 2, 7, None),
    RebalanceStep("Claim", 2, 7, "refused"),
    RebalanceFinished(cause="joined", duration_ms=9, changed=True, owned={T1: A0, T0: A0}),
    RebalanceFinished(cause="joined", duration_ms=9, changed=False, owned={}),
    RebalanceTryFailed(1, 200, 'it "failed"\nbadly'),
    RebalanceGivenUp(4, "é"),
    PartitionsClaimed({T0: A0}),
    PartitionsReleased({T0: A0}),
    PartitionsLost([T1, T0], "gone"),
    PartitionsLost((T0,), "gone"),
    PartitionsBlocked({T1: "why", T0: "because"}),
    OrphansSeen([T0]),
    OrphansSeen(()),
    DeliveryPaused(4000),
    DeliveryResumed(),
    Fetched(broker_id=1, partitions=2, size_bytes=3, records=4, duration_ms=5),
    LeaderLost(T0, "moved"),
    PositionReset(T0, 7),
    Committed(storage="zookeeper", offsets={T0: 5}, duration_ms=1),
    Committed(
        storage="kafka", offsets={TopicPartition("t", n): n for n in range(30)}, duration_ms=1
    ),
    CommitFailed("zookeeper", {T0: "no"}),
    MessagePoisoned(T0, 1, None, "raise", "damaged"),
    ErrorSeen("somewhere", ZeroDivisionError("x")),
]
NOT_LOGGED = (Fetched, LeaderLost, PositionReset, CommitFailed, MessagePoisoned, ErrorSeen)


def test_every_event_has_an_example() -> None:
    """So the tests below cover every event."""
    assert {type(event) for event in EVERY_EVENT} == set(get_args(Event))


@pytest.mark.parametrize("event", EVERY_EVENT, ids=lambda item: type(item).__name__)
def test_the_structured_log_has_every_event(event: Event, caplog: pytest.LogCaptureFixture) -> None:
    """It is one line, and a flat dict that can be JSON; events that others log are left out."""
    with caplog.at_level(logging.DEBUG, logger="zkconsumer.events"):
        LoggingObserver().observe(MEMBER, event)
    if isinstance(event, NOT_LOGGED):
        assert caplog.records == []
        return
    [record] = caplog.records
    values = record.__dict__["zkconsumer"]
    assert json.loads(json.dumps(values)) == values
    assert all(isinstance(value, str | int | None) for value in values.values())
    assert set(values) == {"event", "group_id", "consumer_id", *(f.name for f in fields(event))}
    text = record.getMessage()
    assert text.startswith(f"group g, member g_a: {values['event']}")
    assert "\n" not in text


def test_the_structured_log_shortens_long_values(caplog: pytest.LogCaptureFixture) -> None:
    """A group may have thousands of partitions: the first are listed, with the total number."""
    offsets = {TopicPartition("t", number): 5 for number in range(2_000)}
    with caplog.at_level(logging.DEBUG, logger="zkconsumer.events"):
        observer = LoggingObserver()
        observer.observe(MEMBER, Committed(storage="zookeeper", offsets=offsets, duration_ms=1))
        observer.observe(MEMBER, PartitionsLost(list(offsets), "gone"))
    for text in caplog.messages:
        assert "(2000 in all)" in text
        assert len(text) < 1_000


def test_a_whole_rebalance_is_in_the_structured_log(caplog: pytest.LogCaptureFixture) -> None:
    """It has the decisions and their reasons, in order."""
    group = Group()
    member = group.member("a")
    observation = member.listener._observation
    observation._observers = (LoggingObserver(), *observation._observers)
    with caplog.at_level(logging.DEBUG, logger="zkconsumer.events"):
        member.join({"t": 1})
        group.settle()
        group.joined("0")
    reported = [record.__dict__["zkconsumer"] for record in caplog.records]
    assert [item["event"] for item in reported if item["event"] != "rebalance step"] == [
        "rebalance started",
        "partitions claimed",
        "rebalance finished",
        "joined",
        "rebalance started",
        "partitions released",
        "rebalance finished",
    ]
    assert reported[-1]["owned"] == "t [1]"
    assert chunk_of(member.owned()[T1]).claim.active


@pytest.mark.parametrize(
    ("event", "level"),
    [
        (RebalanceFinished(cause="audit", duration_ms=9, changed=False, owned={}), logging.DEBUG),
        (RebalanceFinished(cause="joined", duration_ms=9, changed=True, owned={}), logging.INFO),
        (OrphansSeen(()), logging.INFO),
        (OrphansSeen((T0,)), logging.WARNING),
        (SessionChanged("CONNECTED", 1), logging.INFO),
        (SessionChanged("LOST", 1), logging.WARNING),
    ],
)
def test_the_level_of_an_event_depends_on_its_content(
    caplog: pytest.LogCaptureFixture, event: Event, level: int
) -> None:
    """A round without changes is not shown, and a connection that is back is no warning."""
    with caplog.at_level(logging.DEBUG, "zkconsumer.events"):
        LoggingObserver().observe(MEMBER, event)
    assert [record.levelno for record in caplog.records] == [level]


def test_a_connection_that_flaps_is_one_warning_and_then_a_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It may break ten times a second; each interruption that follows a calm time is reported."""
    clock = ManualClock()
    observer = LoggingObserver(clock)

    def interrupt(times: int, calm_ms: int = 0) -> None:
        for _ in range(times):
            observer.observe(MEMBER, SessionChanged("SUSPENDED", 1))
            clock.advance(100)
            observer.observe(MEMBER, SessionChanged("CONNECTED", 1))
            clock.advance(calm_ms)

    def seen() -> list[str]:
        found = [text.partition("state=")[2] for text in caplog.messages]
        caplog.clear()
        return found

    suspended, connected = "'SUSPENDED' session_id=1", "'CONNECTED' session_id=1"
    with caplog.at_level(logging.INFO, "zkconsumer.events"):
        interrupt(600)
        assert seen() == [suspended, connected]
        interrupt(1, calm_ms=10_000)
        assert seen() == [f"{suspended} (599 more in the last 60 s)", connected]
        interrupt(1, calm_ms=10_000)
        interrupt(1)
        assert seen() == [suspended, connected] * 2
        observer.observe(MEMBER, SessionChanged("SUSPENDED", 1))
        observer.observe(MEMBER, SessionChanged("LOST", 1))
        observer.observe(MEMBER, SessionChanged("CONNECTED", 2))
        assert seen() == ["'LOST' session_id=1", "'CONNECTED' session_id=2"]


def test_a_first_interruption_is_a_warning_soon_after_the_machine_has_started(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The monotonic clock starts with it: zero is no time at which something was reported."""
    clock = ManualClock()
    observer = LoggingObserver(clock)
    observer.observe(MEMBER, SessionChanged("CONNECTED", 1))
    clock.advance(100)
    observer.observe(MEMBER, SessionChanged("SUSPENDED", 1))
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
