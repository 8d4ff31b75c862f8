"""Drives one ``RebalanceCore`` by hand: sends events, keeps the open step, completes it."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from zkconsumer.assignment.group_view import GroupView
from zkconsumer.membership.zookeeper.core import events as ev
from zkconsumer.membership.zookeeper.core.rebalance import RebalanceCore
from zkconsumer.membership.zookeeper.core.states import RebalanceSettings, RebalanceState
from zkconsumer.model import ConsumerThreadId, TopicPartition

ME = "g_b"
"""Sorts between the other members, so that members before and after take partitions from it."""

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
    """Return partitions of topic t."""
    return tuple(TopicPartition("t", partition) for partition in partitions)


def mine(*partitions: int) -> dict[TopicPartition, ConsumerThreadId]:
    """Return these partitions as owned by our only thread."""
    return dict.fromkeys(tps(*partitions), ConsumerThreadId(ME, 0))


class Script:
    """A rebalance core that a test controls.

    Attributes:
        actions: every action that the core requested, completed or not.
        step: the step that waits for its result.
        members: the members of the group, each with one stream of topic t.
        partition_count: the number of partitions of topic t.
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
        """Send an event; return the actions that the core requests.

        Starts of rounds are recorded separately (``begun``), as most tests do not care.
        """
        response = self.core.receive(event, self.now_ms)
        self.begun += [begun.cause for begun in response if isinstance(begun, ev.Begun)]
        actions: list[ev.Action] = [
            action for action in response if not isinstance(action, ev.Begun)
        ]
        if isinstance(event, ev.Withdraw):  # its steps run, but their results are ignored
            self.step = None
            return actions
        assert not any(isinstance(action, STEPS) for action in actions[:-1]), "a step is the last"
        if actions and isinstance(actions[-1], STEPS):
            self.step = actions[-1]
        self.actions += actions
        return actions

    def open(self, kind: type[A]) -> A:
        """Return the open step, which must be of this type."""
        assert isinstance(self.step, kind), f"{self.step!r} is open"
        return self.step

    def done(self, kind: type[ev.Step]) -> list[ev.Action]:
        """Complete the open step, which must be of this type."""
        step: ev.Step = self.open(kind)
        return self._respond(ev.StepDone(step.round))

    def failed(self, kind: type[ev.Step], reason: str = "broken") -> list[ev.Action]:
        """Let the open step, which must be of this type, fail."""
        step: ev.Step = self.open(kind)
        return self._respond(ev.StepFailed(step.round, reason))

    def read(
        self, *, held: Iterable[TopicPartition] | None = None, registered: bool = True
    ) -> list[ev.Action]:
        """Complete the reading of the group; by default all claims checked are still held."""
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
        """The group as the core reads it."""
        subscription = {"t": 1}
        return GroupView(
            members=dict.fromkeys(self.members, subscription),
            partitions={"t": tuple(range(self.partition_count))},
        )

    def refused(self, *partitions: int, by: str = "g_x-0") -> list[ev.Action]:
        """Let the claim be refused, since the partitions have another owner."""
        return self._respond(
            ev.ClaimRefused(self.open(ev.Claim).round, dict.fromkeys(tps(*partitions), by))
        )

    def blocked(self) -> list[ev.Action]:
        """Let the registration be blocked by another session's node."""
        return self._respond(ev.RegistrationBlocked(self.open(ev.Register).round, "in the way"))

    def loaded(self, offsets: Mapping[TopicPartition, int | None] | None = None) -> list[ev.Action]:
        """Complete the reading of offsets; by default all are 10."""
        step = self.open(ev.LoadOffsets)
        loaded_offsets = dict.fromkeys(step.partitions, 10) if offsets is None else offsets
        return self._respond(ev.OffsetsLoaded(step.round, loaded_offsets))

    def run_to_end(self) -> "Script":
        """Complete every step until the core is stable."""
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
        """Connect, join, and complete all steps."""
        self.send(ev.SessionStarted(1))
        self.send(ev.Join())
        self.run_to_end()
        assert self.core.state is RebalanceState.OWNING
        self.actions.clear()
        return self

    def until(self, kind: type[ev.Step]) -> "Script":
        """Complete steps until one of this type is open."""
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
        """Advance the time to the core's deadline."""
        deadline_ms = self.core.next_deadline_ms()
        assert deadline_ms is not None
        self.now_ms = max(self.now_ms, deadline_ms)
        return self.send(ev.DeadlineReached())

    def is_in_state(self, state: RebalanceState) -> bool:
        """Whether the core is in this state."""
        return self.core.state is state

    def kinds(self) -> list[str]:
        """The type names of all actions requested so far."""
        return [type(action).__name__ for action in self.actions]

    def _respond(self, response: ev.StepResult) -> list[ev.Action]:
        self.step = None
        return self.send(response)


def script_that_loses_a_partition() -> Script:
    """Return a member with partitions 0 and 1 that must release 0 to a member before it."""
    script = Script().joined()
    script.members = ("g_a", ME)
    script.send(ev.RebalanceTriggered(ev.RebalanceCause.MEMBERS))
    return script


def refuse_until_resting(script: Script) -> None:
    """Let the claim of this round be refused."""
    script.until(ev.Claim)
    script.refused(0)


def joining() -> Script:
    """Return a member in its first round."""
    script = Script()
    script.send(ev.SessionStarted(1))
    script.send(ev.Join())
    return script


def attempts(script: Script) -> list[int]:
    """Return the numbers of all failed attempts."""
    return [action.attempt for action in script.actions if isinstance(action, ev.RetryLater)]
