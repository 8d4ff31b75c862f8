"""Members of a coordinator group for tests, with a recording handler and a poll loop."""

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from tests.support.waiting import wait_until
from zkconsumer.clock import SystemClock
from zkconsumer.membership.coordinator.assembly import build_member
from zkconsumer.membership.coordinator.core.states import GroupSettings
from zkconsumer.membership.coordinator.core.terms import GroupTerms
from zkconsumer.membership.coordinator.polled.member import GroupMember
from zkconsumer.membership.protocol import RevocationKind
from zkconsumer.model import TopicPartition
from zkconsumer.scope import ThreadScope

Partitions = frozenset[TopicPartition]
Call = tuple[str, Partitions]

QUICK = GroupSettings(
    session_timeout_ms=2_000,
    heartbeat_interval_ms=40,
    max_poll_interval_ms=10_000,
    retry_backoff_ms=10,
    retry_backoff_max_ms=40,
)
"""Short timeouts for groups without a network."""


def _nothing(_partitions: Partitions, _why: RevocationKind) -> None:
    pass


class RecordingHandler:
    """An ``OwnershipHandler`` that records its calls.

    Args:
        on_give_up: called after the call was recorded.

    Attributes:
        calls: the calls: "revoked", "lost" or "taken", with the partitions.
        owned: the partitions owned according to these calls.
        threads: the ids of the calling threads.
    """

    def __init__(self, on_give_up: Callable[[Partitions, RevocationKind], None] = _nothing) -> None:
        self.calls: list[Call] = []
        self.owned: Partitions = frozenset()
        self.threads: set[int] = set()
        self.on_give_up = on_give_up

    def give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        """See ``OwnershipHandler``."""
        self.threads.add(threading.get_ident())
        self.calls.append((why.name.lower(), partitions))
        try:
            self.on_give_up(partitions, why)
        finally:
            self.owned -= partitions

    def take_over(self, added: Partitions, owned: Partitions) -> None:
        """See ``OwnershipHandler``."""
        self.threads.add(threading.get_ident())
        self.calls.append(("taken", added))
        assert owned == self.owned | added
        self.owned = owned


class MemberInTest:
    """One member with a thread scope of its own; leaving the context closes it.

    Args:
        dialer, cluster: open its connections, and find its coordinator, as a ``BrokerDialer`` and
            a ``ClusterClient`` do.
        group_id: its group.
        settings: its membership's settings.
        name: its threads' name.
        stop: aborts the calls in progress of dialer and cluster.
    """

    def __init__(
        self,
        dialer: Any,
        cluster: Any,
        *,
        group_id: str = "g",
        settings: GroupSettings = QUICK,
        name: str = "member",
        request_timeout_ms: int = 5_000,
        stop: Callable[[], None] = lambda: None,
    ) -> None:
        self.wakeup = threading.Event()
        self.handler = RecordingHandler()
        self.group_topics: list[frozenset[str]] = []
        self._stop = stop
        self._closed = False
        self.scope = ThreadScope(name)
        self.cluster = cluster
        threads = build_member(
            GroupTerms(
                group_id=group_id,
                settings=replace(settings, request_timeout_ms=request_timeout_ms),
            ),
            dialer=dialer,
            cluster=cluster,
            wake=self.wakeup.set,
            on_group_topics=self.group_topics.append,
            clock=SystemClock(),
            random=random.random,
        )
        self.member = GroupMember(threads, handler=self.handler, scope=self.scope)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def subscribe(self, *topics: str, open_ended: bool = False) -> Self:
        """Subscribe to these topics."""
        self.member.subscribe(frozenset(topics), open_ended=open_ended)
        return self

    @property
    def has(self) -> Partitions:
        """The partitions it may deliver now."""
        return self.member.deliverable()

    def poll_until(self, what: str, probe: Callable[[], object], *, timeout_s: float = 30) -> None:
        """Poll like a caller until a condition holds."""
        poll_until(what, probe, self, timeout_s=timeout_s)

    def close(self, timeout_ms: int = 5_000) -> None:
        """Close it, and check that its threads end."""
        if self._closed:
            return
        self._closed = True
        try:
            self.member.close(timeout_ms)
        finally:
            self._stop()
            left = self.scope.close(5_000)
        assert left == []
        error = self.scope.first_error()
        if error is not None:
            raise error

    def stop_short(self) -> None:
        """Stop it without a LeaveGroup request, as if its process were killed."""
        self._closed = True
        self._stop()
        assert self.scope.close(5_000) == []


def poll_until(
    what: str, probe: Callable[[], object], *members: MemberInTest, timeout_s: float = 30
) -> None:
    """Poll these members in turn until ``probe`` returns something true."""

    def turn() -> object:
        for member in members:
            member.member.poll()
        return probe()

    wait_until(turn, what=what, timeout_s=timeout_s)


def tps(topic: str, *numbers: int) -> Partitions:
    """Return partitions of one topic."""
    return frozenset(TopicPartition(topic, number) for number in numbers)
