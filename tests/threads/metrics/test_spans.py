"""Spans of a connector, as OpenTelemetry's own SDK records them."""

import builtins
from collections.abc import Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from tests.support.control_bench import Group
from tests.support.manual_clock import ManualClock
from zkconsumer.errors import ConfigError
from zkconsumer.membership.zookeeper.core.events import RebalanceCause
from zkconsumer.metrics.spans import SpanObserver, tracing_observers
from zkconsumer.model import ConsumerThreadId, TopicPartition
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    Event,
    Fetched,
    Joined,
    Left,
    MemberName,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
)

NAME = MemberName("g", "g_1")
T0 = TopicPartition("t", 0)


class Traced:
    """A span observer that exports to an SDK in memory."""

    def __init__(self, fetch_interval_ms: int | None = 1_000) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.provider = provider
        self.clock = ManualClock()
        self.observer = SpanObserver(
            provider, fetch_interval_ms=fetch_interval_ms, clock=self.clock
        )

    def notify(self, *events: Event, member: MemberName = NAME, every_ms: int = 10) -> None:
        """Observe these events, at intervals of ``every_ms``."""
        for event in events:
            self.clock.advance(every_ms)
            self.observer.observe(member, event)

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        """The spans that have ended, in the order of their ends."""
        return self._exporter.get_finished_spans()

    @property
    def names(self) -> list[str]:
        """The names of these spans."""
        return [span.name for span in self.spans]


def finished(
    cause: RebalanceCause = RebalanceCause.MEMBERS, *, changed: bool = True
) -> RebalanceFinished:
    """The event of a finished rebalance."""
    owned = {T0: ConsumerThreadId("g_1", 0)}
    return RebalanceFinished(cause=cause.value, duration_ms=9, changed=changed, owned=owned)


def lasted_ms(span: ReadableSpan) -> int:
    """Return the duration of a span."""
    assert span.start_time is not None
    assert span.end_time is not None
    return (span.end_time - span.start_time) // 1_000_000


def test_a_rebalance_holds_its_steps() -> None:
    """Its span has group, member, rounds and failed attempts; no step begins before it."""
    traced = Traced()
    traced.notify(
        RebalanceStarted("joined"),
        RebalanceStep("Register", 0, 500),
        RebalanceTryFailed(1, 50, "taken"),
        RebalanceStarted("another try"),
        RebalanceStep("Claim", 2, 5, "somebody was quicker"),
        finished(),
    )
    assert traced.names == [
        "zkconsumer.rebalance",
        "zkconsumer.rebalance.Register",
        "zkconsumer.rebalance.Claim",
    ]
    whole, register, claim = traced.spans
    assert dict(whole.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "rebalance",
        "messaging.consumer.group.name": "g",
        "zkconsumer.member.id": "g_1",
        "zkconsumer.cause": "members changed",
        "zkconsumer.changed": True,
        "zkconsumer.partitions.owned": 1,
    }
    assert whole.parent is None
    assert lasted_ms(whole) == 50
    assert [event.name for event in whole.events] == ["round", "round", "try failed"]
    for step in (register, claim):
        assert step.parent is not None
        assert step.parent == whole.context
        assert step.status.is_ok == (step is register)
    assert register.start_time == whole.start_time
    assert lasted_ms(claim) == 5
    assert claim.status.description == "somebody was quicker"


def test_a_rebalance_that_is_given_up_is_an_error() -> None:
    """The next rebalance is a span of its own."""
    traced = Traced()
    traced.notify(RebalanceStarted("joined"), RebalanceGivenUp(4, "conflicts"))
    traced.notify(RebalanceStarted("another try"), finished())
    given_up, later = traced.spans
    assert given_up.status.status_code is StatusCode.ERROR
    assert given_up.status.description == "conflicts"
    assert later.status.status_code is StatusCode.UNSET
    assert later.parent is None


def test_an_audit_without_changes_is_no_span() -> None:
    """There is one every few seconds; an audit that changed something or failed has a span."""
    traced = Traced()
    traced.notify(RebalanceStarted("an audit"), finished(RebalanceCause.AUDIT, changed=False))
    assert traced.names == []
    traced.notify(RebalanceStarted("an audit"), finished(RebalanceCause.AUDIT))
    traced.notify(
        RebalanceStarted("an audit"),
        RebalanceTryFailed(1, 5, "x"),
        finished(RebalanceCause.AUDIT, changed=False),
    )
    assert traced.names == ["zkconsumer.rebalance"] * 2


def test_spans_of_members_are_not_mixed_up() -> None:
    """Two are in one process; a member that leaves during a rebalance leaves no span."""
    traced, other = Traced(), MemberName("g", "g_2")
    traced.notify(RebalanceStarted("joined"))
    traced.notify(RebalanceStarted("joined"), RebalanceStep("Claim", 1, 1), member=other)
    traced.notify(finished())
    traced.notify(Left(), finished(), member=other)
    assert traced.names == ["zkconsumer.rebalance"]


def test_joins_and_commits_have_their_durations() -> None:
    """The span of a failed commit is an error with its reasons."""
    traced = Traced()
    traced.notify(
        Joined(700),
        Committed(storage="zookeeper", offsets={T0: 5}, duration_ms=4),
        CommitFailed("kafka", {T0: "moved", TopicPartition("t", 1): "moved"}),
    )
    join, commit, failed = traced.spans
    assert (join.name, lasted_ms(join)) == ("zkconsumer.join", 700)
    assert (commit.name, lasted_ms(commit), commit.kind) == (
        "zkconsumer.commit",
        4,
        SpanKind.CLIENT,
    )
    attributes = commit.attributes or {}
    assert attributes["zkconsumer.storage"] == "zookeeper"
    assert attributes["zkconsumer.partitions"] == 1
    assert (failed.status.status_code, failed.status.description) == (StatusCode.ERROR, "moved")


@pytest.mark.parametrize(("interval_ms", "count"), [(1_000, 4), (0, 80), (None, 0)])
def test_fetches_are_sampled(interval_ms: int | None, count: int) -> None:
    """There is at most one span for each broker in each interval."""
    traced = Traced(fetch_interval_ms=interval_ms)
    for _ in range(40):
        for broker_id in (1, 2):
            traced.notify(
                Fetched(broker_id=broker_id, partitions=3, size_bytes=9, records=2, duration_ms=8),
                every_ms=20,
            )
    assert traced.names == ["zkconsumer.fetch"] * count
    for span in traced.spans:
        attributes = span.attributes or {}
        assert attributes["messaging.batch.message_count"] == 2
        assert lasted_ms(span) == 8


def test_a_real_rebalance_makes_spans() -> None:
    """The events come from a member on a ZooKeeper in memory."""
    traced = Traced()
    group = Group()
    member = group.member("a")
    member.join({"t": 1})
    group.settle()
    traced.notify(*member.observed.events)
    assert "zkconsumer.rebalance.Claim" in traced.names
    assert "zkconsumer.join" in traced.names


def test_without_an_sdk_nothing_happens() -> None:
    """OpenTelemetry's API alone records nothing."""
    (observer,) = tracing_observers()
    observer.observe(NAME, Joined(5))


def test_without_the_api_it_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does only if spans are requested."""
    real = builtins.__import__

    def missing(name: str, *rest: Any, **named: Any) -> Any:
        if name.startswith("opentelemetry"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert tracing_observers() == ()
    with pytest.raises(ConfigError, match=r"pip install 'zkconsumer\[tracing\]'"):
        SpanObserver()
