"""Drives one ``RebalanceCore`` by hand: sends events, keeps the open step, answers it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from zkconsumer.assignment.group_view import GroupView, MemberSubscription
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings, RebalanceState
from zkconsumer.model import ConsumerThreadId, TopicPartition

ME = "g_b"
"""Between the others in text order: members before and after take partitions from it."""

STEPS = (
    ev.Register,
    ev.ReadGroup,
    ev.Revoke,
    ev.Commit,
    ev.Release,
    ev.Claim,
    ev.LoadOffsets,
    ev.Start,
)
A = TypeVar("A")


def tps(*partitions: int) -> tuple[TopicPartition, ...]:
    """Partitions of topic t."""
    return tuple(TopicPartition("t", partition) for partition in partitions)


def mine(*partitions: int) -> dict[TopicPartition, ConsumerThreadId]:
    """These partitions, owned by our only thread."""
    return dict.fromkeys(tps(*partitions), ConsumerThreadId(ME, 0))


class Script:
    """A core under a test's hand.

    Attributes:
        actions: every action that the core asked for, answered or not.
        step: the one that waits for its answer.
        members: who else is in the group, one stream of topic t each.
        partition_count: how many partitions topic t has.
    """

    def __init__(
        self,
        *,
        max_retries: int = 4,
        backoff_ms: int = 1_000,
        session_timeout_ms: int = 0,
        random: Callable[[], float] = lambda: 0.0,
    ) -> None:
        settings = RebalanceSettings(
            consumer_id=ME,
            max_retries=max_retries,
            backoff_ms=backoff_ms,
            session_timeout_ms=session_timeout_ms,
        )
        self.core = RebalanceCore(settings, random)
        self.now_ms = 0
        self.actions: list[ev.Action] = []
        self.begun: list[ev.RebalanceCause] = []
        self.step: ev.Step | None = None
        self.members: tuple[str, ...] = (ME,)
        self.partition_count = 2
        self.broker_count = 1

    def send(self, event: ev.Event) -> list[ev.Action]:
        """Hand over an event; gives what the core wants done for it.

        That a round begins is noted aside (``begun``): it goes without saying in most tests.
        """
        response = self.core.receive(event, self.now_ms)
        self.begun += [begun.cause for begun in response if isinstance(begun, ev.Begun)]
        actions: list[ev.Action] = [
            action for action in response if not isinstance(action, ev.Begun)
        ]
        if isinstance(event, ev.Withdraw):  # its steps are run, and nobody waits for the answers
            self.step = None
            return actions
        assert not any(isinstance(action, STEPS) for action in actions[:-1]), "a step is the last"
        if actions and isinstance(actions[-1], STEPS):
            self.step = actions[-1]
        self.actions += actions
        return actions

    def open(self, kind: type[A]) -> A:
        """The open step, which must be of this kind."""
        assert isinstance(self.step, kind), f"{self.step!r} is open"
        return self.step

    def done(self, kind: type[ev.Step]) -> list[ev.Action]:
        """The open step, of this kind, did what it should."""
        step: ev.Step = self.open(kind)
        return self._respond(ev.StepDone(step.round))

    def failed(self, kind: type[ev.Step], reason: str = "broken") -> list[ev.Action]:
        """The open step, of this kind, failed."""
        step: ev.Step = self.open(kind)
        return self._respond(ev.StepFailed(step.round, reason))

    def read(
        self, *, held: Iterable[TopicPartition] | None = None, registered: bool = True
    ) -> list[ev.Action]:
        """The group was read; all that was checked is held unless said otherwise."""
        step = self.open(ev.ReadGroup)
        return self._respond(
            ev.GroupRead(
                round=step.round,
                view=self.view(),
                registered=registered,
                held=frozenset(step.check if held is None else held),
                broker_count=self.broker_count,
            )
        )

    def view(self) -> GroupView:
        """What the group looks like."""
        subscription = MemberSubscription({"t": 1})
        return GroupView(
            members=dict.fromkeys(self.members, subscription),
            partitions={"t": tuple(range(self.partition_count))},
        )

    def refused(self, *partitions: int, by: str = "g_x-0") -> list[ev.Action]:
        """The claim met other owners."""
        return self._respond(
            ev.ClaimRefused(self.open(ev.Claim).round, dict.fromkeys(tps(*partitions), by))
        )

    def blocked(self) -> list[ev.Action]:
        """The registration met another session's node."""
        return self._respond(ev.RegistrationBlocked(self.open(ev.Register).round, "in the way"))

    def loaded(self, offsets: Mapping[TopicPartition, int | None] | None = None) -> list[ev.Action]:
        """The offsets were read, 10 for each unless said otherwise."""
        step = self.open(ev.LoadOffsets)
        found = dict.fromkeys(step.partitions, 10) if offsets is None else offsets
        return self._respond(ev.OffsetsLoaded(step.round, found))

    def run_on(self) -> "Script":
        """Answer every step with success until the core rests."""
        while self.step is not None:
            match self.step:
                case ev.ReadGroup():
                    self.read()
                case ev.LoadOffsets():
                    self.loaded()
                case _:
                    self.done(type(self.step))
        return self

    def joined(self) -> "Script":
        """Connect, join, and come to rest."""
        self.send(ev.SessionStarted(1))
        self.send(ev.Join())
        self.run_on()
        assert self.core.state is RebalanceState.OWNING
        self.actions.clear()
        return self

    def until(self, kind: type[ev.Step]) -> "Script":
        """Answer with success until a step of this kind is open."""
        while not isinstance(self.step, kind):
            assert self.step is not None, f"no {kind.__name__} came"
            match self.step:
                case ev.ReadGroup():
                    self.read()
                case ev.LoadOffsets():
                    self.loaded()
                case _:
                    self.done(type(self.step))
        return self

    def tick(self) -> list[ev.Action]:
        """Let the core's deadline come."""
        deadline_ms = self.core.next_deadline_ms()
        assert deadline_ms is not None
        self.now_ms = max(self.now_ms, deadline_ms)
        return self.send(ev.DeadlineReached())

    def stands_in(self, state: RebalanceState) -> bool:
        """Whether the core is in this state."""
        return self.core.state is state

    def kinds(self) -> list[str]:
        """The names of all actions said so far."""
        return [type(action).__name__ for action in self.actions]

    def _respond(self, response: ev.StepResult) -> list[ev.Action]:
        self.step = None
        return self.send(response)


def losing_one() -> Script:
    """A member with partitions 0 and 1 that must give up partition 0 to one before it."""
    script = Script().joined()
    script.members = ("g_a", ME)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    return script


def refuse_until_resting(script: Script) -> None:
    """Let the claim of this round be refused."""
    script.until(ev.Claim)
    script.refused(0)


def joining() -> Script:
    """A member in its first round."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    return script


def attempts(script: Script) -> list[int]:
    """The number of each try that failed."""
    return [action.attempt for action in script.actions if isinstance(action, ev.RetryLater)]
