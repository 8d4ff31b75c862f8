"""A connector's spans for OpenTelemetry: joins, rebalances with their steps, fetches, commits.

The only importer of ``opentelemetry``, of which the API is enough (extra ``tracing``): without an
SDK it does nothing. Events are reported when they end, so a span is created with explicit start and
end times; only steps have a parent, the span of their rebalance.

Attributes follow OpenTelemetry's messaging conventions where these define them; the names of others
begin with ``zkconsumer.``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.errors import ConfigError
from zkconsumer.membership.zookeeper.core.events import RebalanceCause
from zkconsumer.observe import (
    CommitFailed,
    Committed,
    Event,
    Fetched,
    Joined,
    Left,
    MemberName,
    Observer,
    RebalanceFinished,
    RebalanceGivenUp,
    RebalanceStarted,
    RebalanceStep,
    RebalanceTryFailed,
)

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import TracerProvider

MISSING = "spans need opentelemetry-api: pip install 'zkconsumer[tracing]'"
FETCH_INTERVAL_MS = 10_000
"""The minimum interval between two spans of fetches from one broker."""
_AUDIT = RebalanceCause.AUDIT.value

_Attributes: TypeAlias = Mapping[str, str | int | bool]


@dataclass(slots=True)
class _Rebalance:
    """A rebalance in progress; its events have their times, in ms since the epoch."""

    began_ms: int
    causes: list[tuple[str, int]]
    steps: list[tuple[RebalanceStep, int]] = field(default_factory=list)
    failures: list[tuple[RebalanceTryFailed, int]] = field(default_factory=list)


class SpanObserver:
    """An ``Observer`` of connectors that creates spans. Thread: any.

    Args:
        tracer_provider: the provider of the tracer; None: the process's default.
        fetch_interval_ms: the minimum interval between two spans of fetches from one broker, since
            there can be thousands of fetches a second. 0: a span of each, None: no spans.
        clock: the time source.

    Raises:
        ConfigError: the API is not installed.
    """

    def __init__(
        self,
        tracer_provider: "TracerProvider | None" = None,
        *,
        fetch_interval_ms: int | None = FETCH_INTERVAL_MS,
        clock: Clock | None = None,
    ) -> None:
        try:
            # An optional extra, imported on use.
            from opentelemetry import trace  # noqa: PLC0415
            from opentelemetry.context import Context  # noqa: PLC0415
        except ImportError as missing:
            raise ConfigError(MISSING) from missing
        self._trace = trace
        self._nothing = Context()
        self._tracer = trace.get_tracer("zkconsumer", tracer_provider=tracer_provider)
        self._fetch_interval_ms = fetch_interval_ms
        self._clock = clock or SystemClock()
        self._rebalances: dict[MemberName, _Rebalance] = {}
        self._fetched_ms: dict[tuple[MemberName, int], int] = {}

    def observe(self, member: MemberName, event: Event) -> None:
        """See ``Observer``."""
        now_ms = self._clock.wall_ms()
        match event:
            case Fetched():
                self._fetched(member, event, now_ms)
            case Committed():
                about = {"zkconsumer.storage": event.storage}
                self._commit(member, about, len(event.offsets), now_ms, event.duration_ms)
            case CommitFailed(storage, reasons):
                reason = "; ".join(sorted(set(reasons.values())))
                about = {"zkconsumer.storage": storage}
                self._commit(member, about, len(reasons), now_ms, failure=reason)
            case Joined(duration_ms):
                self._span("join", member, {}, (now_ms - duration_ms, now_ms))
            case _:
                self._rebalancing(member, event, now_ms)

    def _rebalancing(self, member: MemberName, event: Event, now_ms: int) -> None:
        """Build the span of a rebalance, whose events the control thread reports in order."""
        running = self._rebalances.get(member)
        match event:
            case RebalanceStarted(cause) if running is None:
                self._rebalances[member] = _Rebalance(now_ms, [(cause, now_ms)])
            case Left():
                self._rebalances.pop(member, None)
                for key in [m for m in list(self._fetched_ms) if m[0] == member]:
                    self._fetched_ms.pop(key, None)
            case _ if running is None:
                pass
            case RebalanceStarted(cause):
                running.causes.append((cause, now_ms))
            case RebalanceStep():
                running.steps.append((event, now_ms))
            case RebalanceTryFailed():
                running.failures.append((event, now_ms))
            case RebalanceFinished():
                self._finished(member, running, event, now_ms)
            case RebalanceGivenUp(attempts, reason):
                del self._rebalances[member]
                about = {"zkconsumer.attempts": attempts}
                self._rebalance(member, running, about, now_ms, failure=reason)
            case _:
                pass

    def _finished(
        self, member: MemberName, running: _Rebalance, event: RebalanceFinished, now_ms: int
    ) -> None:
        del self._rebalances[member]
        if not (event.changed or running.failures) and event.cause == _AUDIT:
            return  # the audit found nothing to do
        about: _Attributes = {
            "zkconsumer.cause": event.cause,
            "zkconsumer.changed": event.changed,
            "zkconsumer.partitions.owned": len(event.owned),
        }
        self._rebalance(member, running, about, now_ms)

    def _rebalance(
        self,
        member: MemberName,
        running: _Rebalance,
        about: _Attributes,
        now_ms: int,
        failure: str | None = None,
    ) -> None:
        times = (running.began_ms, now_ms)
        moments = [
            *(("round", {"zkconsumer.cause": cause}, at_ms) for cause, at_ms in running.causes),
            *(
                ("try failed", {"zkconsumer.reason": failure.reason}, at_ms)
                for failure, at_ms in running.failures
            ),
        ]
        context = self._span("rebalance", member, about, times, failure=failure, moments=moments)
        for step, at_ms in running.steps:
            self._span(
                f"rebalance.{step.step}",
                member,
                {"zkconsumer.partitions": step.partitions},
                (max(running.began_ms, at_ms - step.duration_ms), at_ms),
                failure=step.failure,
                parent=context,
            )

    def _fetched(self, member: MemberName, event: Fetched, now_ms: int) -> None:
        interval_ms, key = self._fetch_interval_ms, (member, event.broker_id)
        last_ms = self._fetched_ms.get(key)
        if interval_ms is None or (last_ms is not None and now_ms - last_ms < interval_ms):
            return
        self._fetched_ms[key] = now_ms
        about: _Attributes = {
            "messaging.operation.type": "receive",
            "messaging.batch.message_count": event.records,
            "zkconsumer.broker.id": event.broker_id,
            "zkconsumer.partitions": event.partitions,
            "zkconsumer.size_bytes": event.size_bytes,
            "zkconsumer.fetches": event.fetches,
        }
        self._span("fetch", member, about, (now_ms - event.duration_ms, now_ms), is_client=True)

    def _commit(
        self,
        member: MemberName,
        about: _Attributes,
        partitions: int,
        now_ms: int,
        duration_ms: int = 0,
        failure: str | None = None,
    ) -> None:
        full = {"messaging.operation.type": "settle", "zkconsumer.partitions": partitions, **about}
        times = (now_ms - duration_ms, now_ms)
        self._span("commit", member, full, times, failure=failure, is_client=True)

    def _span(  # noqa: PLR0913 - all that a span has
        self,
        operation: str,
        member: MemberName,
        about: _Attributes,
        times: tuple[int, int],
        *,
        failure: str | None = None,
        moments: list[tuple[str, dict[str, str], int]] | None = None,
        parent: "Context | None" = None,
        is_client: bool = False,
    ) -> "Context":
        """Create a span with its start and end; return the context for its children."""
        trace, (began_ms, ended_ms) = self._trace, times
        span = self._tracer.start_span(
            f"zkconsumer.{operation}",
            # Not a child of the thread's current span.
            context=self._nothing if parent is None else parent,
            kind=trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL,
            attributes={
                "messaging.system": "kafka",
                "messaging.operation.name": operation,
                "messaging.consumer.group.name": member.group_id,
                "zkconsumer.member.id": member.consumer_id,
                **about,
            },
            start_time=began_ms * 1_000_000,
        )
        for name, more, at_ms in moments or ():
            span.add_event(name, more, timestamp=at_ms * 1_000_000)
        if failure is not None:
            span.set_status(trace.Status(trace.StatusCode.ERROR, failure))
        span.end(end_time=ended_ms * 1_000_000)
        context: Context = trace.set_span_in_context(span, self._nothing)
        return context


def tracing_observers() -> tuple[Observer, ...]:
    """Return an observer that creates spans if OpenTelemetry's API is installed; else none."""
    try:
        return (SpanObserver(),)
    except ConfigError:
        return ()
