"""A ``KafkaConsumer`` with fake parts that a test controls: no threads, no network, no waits.

Logs hold records whose offsets are 0, 1, 2, ..., with values such as ``b"t-0:5"``.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from tests.support.manual_clock import ManualClock
from tests.support.model_engine import ModelEngine
from zkconsumer.cluster.view import NOTHING_KNOWN, ClusterView
from zkconsumer.consumer.autocommit import AutoCommit
from zkconsumer.consumer.automatic_commits import AutomaticCommits
from zkconsumer.consumer.committed_lookup import CommittedResult
from zkconsumer.consumer.config import PollConfig
from zkconsumer.consumer.measuring.measures import Measures
from zkconsumer.consumer.measuring.windows import WindowTerms
from zkconsumer.consumer.one_caller import SingleCaller
from zkconsumer.consumer.parts import ConsumerComponents
from zkconsumer.consumer.poll_loop import PollLoop
from zkconsumer.consumer.session import PollSession
from zkconsumer.consumer.settings_of import policy_of
from zkconsumer.consumer.start_positions import StartPositions
from zkconsumer.consumer.wakeup import Wakeup
from zkconsumer.errors import ZkConsumerError
from zkconsumer.forking import ForkGuard
from zkconsumer.membership.no_group import NoGroup
from zkconsumer.membership.protocol import (
    CommitDone,
    Membership,
    Offsets,
    Partitions,
    RevocationKind,
)
from zkconsumer.model import Broker, OffsetAndMetadata, TopicPartition
from zkconsumer.scope import ThreadScope


class FakeMembership:
    """A ``Membership`` in which a test decides what happens at the next poll.

    Attributes:
        due: functions that the next ``poll`` calls: what the group does to this member.
        committed_offsets: the group's committed offsets.
        commit_errors: the errors of the next commits; None: success.
        pending: asynchronous commits without a response, which ``response`` gives.
        is_certain: whether owned partitions may be delivered.
        calls: the names of the calls it received.
    """

    member_id = "member-1"
    generation = 7
    state = "stable"

    def __init__(self) -> None:
        self.handler: PollSession
        self.due: list[Callable[[], None]] = []
        self.owned: Partitions = frozenset()
        self.committed_offsets: dict[TopicPartition, OffsetAndMetadata] = {}
        self.commit_errors: list[ZkConsumerError | None] = []
        self.pending: list[tuple[Offsets, CommitDone | None]] = []
        self.is_certain = True
        self.calls: list[str] = []
        self.topics: frozenset[str] = frozenset()

    def assign(self, *partitions: TopicPartition) -> None:
        """Assign these partitions at the next poll."""
        self.due.append(lambda: self._take_over(frozenset(partitions)))

    def revoke(
        self, *partitions: TopicPartition, why: RevocationKind = RevocationKind.REVOKED
    ) -> None:
        """Revoke these partitions at the next poll."""
        self.due.append(lambda: self._give_up(frozenset(partitions), why))

    def _take_over(self, added: Partitions) -> None:
        self.owned |= added
        self.handler.take_over(added, self.owned)

    def _give_up(self, partitions: Partitions, why: RevocationKind) -> None:
        self.owned -= partitions
        if partitions:
            self.handler.give_up(partitions, why)

    def numbers(self) -> Mapping[str, float]:
        """See ``Membership``."""
        return {"join-total": 1}

    def subscribe(self, topics: frozenset[str], *, open_ended: bool) -> None:
        """See ``Membership``."""
        self.topics = topics
        self.calls.append(f"subscribe {','.join(sorted(topics))}{' ...' if open_ended else ''}")

    def poll(self) -> None:
        """See ``Membership``."""
        due, self.due = self.due, []
        for call in due:
            call()

    def unsubscribe(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        self.calls.append(f"unsubscribe {timeout_ms}")
        self._give_up(self.owned, RevocationKind.REVOKED)

    def deliverable(self) -> Partitions:
        """See ``Membership``."""
        return self.owned if self.is_certain else frozenset()

    def commit(self, offsets: Offsets, *, timeout_ms: int) -> None:
        """See ``Membership``."""
        assert timeout_ms >= 0
        error = self.commit_errors.pop(0) if self.commit_errors else None
        self.calls.append("commit")
        if error is not None:
            raise error
        self.committed_offsets.update(offsets)

    def commit_async(self, offsets: Offsets, done: CommitDone | None) -> None:
        """See ``Membership``."""
        self.pending.append((offsets, done))

    def run_callbacks(self) -> None:
        """See ``Membership``."""

    def response(self, error: Exception | None = None) -> None:
        """Complete the first pending asynchronous commit."""
        offsets, done = self.pending.pop(0)
        if error is None:
            self.committed_offsets.update(offsets)
        if done is not None:
            done(offsets, error)

    def committed(
        self, partitions: Collection[TopicPartition], *, timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """See ``Membership``."""
        assert timeout_ms >= 0
        return {tp: self.committed_offsets.get(tp) for tp in partitions}

    def on_topics_changed(self, view: ClusterView) -> None:
        """See ``Membership``."""

    def rejoin(self) -> None:
        """See ``Membership``."""
        self.calls.append("rejoin")

    def close(self, timeout_ms: int) -> None:
        """See ``Membership``."""
        self.calls.append(f"close {timeout_ms}")
        self._give_up(self.owned, RevocationKind.REVOKED)


class ImmediateLookup:
    """A ``CommittedLookup`` that responds at the next ``responses``, unless ``holds`` is set."""

    def __init__(self, membership: FakeMembership) -> None:
        self._membership = membership
        self.requested: list[Partitions] = []
        self.errors: list[ZkConsumerError] = []
        self.holds = False

    def request(self, partitions: Partitions) -> None:
        """See ``CommittedLookup``."""
        self.requested.append(partitions)

    def responses(self) -> list[CommittedResult]:
        """See ``CommittedLookup``."""
        if self.holds:
            return []
        requested, self.requested = self.requested, []
        return [
            CommittedResult(partitions, self.errors.pop(0))
            if self.errors
            else CommittedResult(partitions, self._membership.committed(partitions, timeout_ms=0))
            for partitions in requested
        ]


@dataclass
class FakeMetadataManager:
    """A ``MetadataManager`` with the metadata that a test sets."""

    view: ClusterView = NOTHING_KNOWN
    failure: ZkConsumerError | None = None
    watched: frozenset[str] | None = frozenset()
    events: dict[TopicPartition, bool | None] = field(default_factory=dict)

    def begin(self, topics: frozenset[str], *, timeout_ms: int) -> None:
        """See ``MetadataManager``; succeeds at once."""
        del timeout_ms
        self.watched = topics

    def watch(self, topics: frozenset[str] | None) -> None:
        """See ``MetadataManager``."""
        self.watched = topics

    def is_new(self, tp: TopicPartition) -> bool | None:
        """See ``MetadataManager``."""
        return self.events.get(tp, False)

    def stop(self) -> None:
        """See ``MetadataManager``."""

    def learn(self, partitions: Mapping[str, int], *, internal: Collection[str] = ()) -> None:
        """Set the topics, with their numbers of partitions."""
        self.view = replace(
            self.view,
            brokers={0: Broker(0, "b", 9092)},
            partitions={topic: tuple(range(count)) for topic, count in partitions.items()},
            internal=frozenset(internal),
        )


class FakeParts:
    """All fake parts of a consumer.

    Args:
        settings: the consumer's settings; without ``group_id`` there is no group.
    """

    def __init__(self, **settings: Any) -> None:
        self.config = PollConfig(**settings)
        self.clock = ManualClock()
        self.wakeup = _FakeWakeup(self.clock)
        self.engine = ModelEngine()
        self.metadata = FakeMetadataManager()
        self.client: Any = None
        self.release = (2, 8)
        self.group = FakeMembership()
        self.lookup = ImmediateLookup(self.group)
        in_group = self.config.group_id is not None
        self.session = PollSession(
            AutomaticCommits(
                AutoCommit(
                    enabled=self.config.enable_auto_commit and in_group,
                    interval_ms=self.config.auto_commit_interval_ms,
                    retry_ms=self.config.retry_backoff_ms,
                ),
                self.clock,
                revoke_commit_ms=15_000,
                callback=self.config.objects.default_offset_commit_callback,
            ),
            cast("Any", self.engine),
            cast("Any", self.metadata),
            self.clock,
            exclude_internal_topics=self.config.exclude_internal_topics,
        )
        self.group.handler = self.session
        membership: Membership = self.group
        if not in_group:
            membership = NoGroup(self.session, lambda: self.metadata.view)
        lookup = cast("Any", self.lookup if in_group else None)
        starts = StartPositions(self.engine.seek, lookup, policy_of(self.config))
        self.session.join(membership, starts)

    def parts(self) -> ConsumerComponents:
        """The parts as a consumer takes them."""
        one_caller = SingleCaller(ForkGuard("consumer fake"))
        return ConsumerComponents(
            config=self.config,
            clock=self.clock,
            wakeup=self.wakeup,
            one_caller=one_caller,
            scope=ThreadScope("fake"),
            client=cast("Any", self),
            metadata=cast("Any", self.metadata),
            engine=cast("Any", self.engine),
            session=self.session,
            measures=Measures(WindowTerms(), self.clock),
            loop=PollLoop(
                self.session.turn,
                self.wakeup,
                self.clock,
                most_ms=3_000,
                is_ending=lambda: one_caller.is_ending,
            ),
            stops=(self.engine.stop,),
        )


class _FakeWakeup(Wakeup):
    """A wakeup whose wait advances the clock, or calls a function of the test.

    Attributes:
        meanwhile: functions that the next waits call, one each; such a wait ends at once.
    """

    __slots__ = ("_clock", "meanwhile")

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self.meanwhile: list[Callable[[], None]] = []

    def wait(self, timeout_ms: int) -> None:
        """See ``Wakeup``."""
        if self.meanwhile:
            self.meanwhile.pop(0)()
            self._clock.advance(1)
        else:
            self._clock.advance(timeout_ms)
