"""The state machine of a drain: the next step follows from its storage alone. Pure.

A run killed at any point leaves one of these states, from which the next run continues:

| storage holds | next |
|---|---|
| nothing | BEGIN: record the drain's identity |
| no plan; or a manifest for the last plan, and nothing staged | PLAN the next batch |
| a plan without a manifest | LAND it, as a new attempt |
| a plan with a manifest, and something staged | PUBLISH, then COMMIT, then CLEAN |

Staged files are deleted last. As long as they exist, it is unknown whether their batch was
published and the group's offsets committed, so both steps are repeated, which is safe.
"""

from dataclasses import dataclass, replace
from enum import Enum

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan


class DrainStep(Enum):
    """The steps of a batch; each is completed before the next one begins."""

    BEGIN = "begin"
    PLAN = "plan"
    LAND = "land"
    PUBLISH = "publish"
    COMMIT = "commit"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalState:
    """The content of a drain's storage.

    Attributes:
        begun: whether it holds the drain's identity.
        plan: the last plan, if there is one.
        manifest: the manifest of that plan, if it is landed.
        staged: whether files are staged for that plan.
    """

    begun: bool
    plan: BatchPlan | None = None
    manifest: Manifest | None = None
    staged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainState:
    """The next step, and its batch.

    Attributes:
        step: the next step.
        plan: the current batch; before PLAN the last one, None before the first.
        manifest: the manifest of the current batch; from PUBLISH on.
    """

    step: DrainStep
    plan: BatchPlan | None = None
    manifest: Manifest | None = None

    def planned(self, plan: BatchPlan) -> "DrainState":
        """Return the state once the next plan is written."""
        self._expect(DrainStep.PLAN)
        if plan.number != self.next_number:
            raise ValueError(f"batch {plan.number} is not the next, which is {self.next_number}")
        return DrainState(step=DrainStep.LAND, plan=plan)

    def landed(self, manifest: Manifest) -> "DrainState":
        """Return the state once the manifest is written."""
        self._expect(DrainStep.LAND)
        return DrainState(step=DrainStep.PUBLISH, plan=self.plan, manifest=manifest)

    def done(self) -> "DrainState":
        """Return the state once a step after the landing is completed."""
        if self.step is DrainStep.CLEAN:
            return DrainState(step=DrainStep.PLAN, plan=self.plan)
        return replace(self, step=_FOLLOWING[self.step])

    @property
    def batch(self) -> BatchPlan:
        """The current batch; missing in the first two steps."""
        if self.plan is None:
            raise ValueError(f"{self.step.value} has no batch in hand")
        return self.plan

    @property
    def landing(self) -> Manifest:
        """The manifest of the current batch; present from PUBLISH on."""
        if self.manifest is None:
            raise ValueError(f"{self.step.value} has nothing landed")
        return self.manifest

    @property
    def next_number(self) -> int:
        """The number of the next plan."""
        return 1 if self.plan is None else self.plan.number + 1

    def _expect(self, step: DrainStep) -> None:
        if self.step is not step:
            raise ValueError(f"{step.value} is done, and {self.step.value} was to be")


_FOLLOWING = {DrainStep.PUBLISH: DrainStep.COMMIT, DrainStep.COMMIT: DrainStep.CLEAN}


def resume(journal: JournalState) -> DrainState:
    """Return the state that a run resumes from."""
    if not journal.begun:
        return DrainState(step=DrainStep.BEGIN)
    if journal.plan is None:
        return DrainState(step=DrainStep.PLAN)
    if journal.manifest is None:
        return DrainState(step=DrainStep.LAND, plan=journal.plan)
    if journal.staged:
        return DrainState(step=DrainStep.PUBLISH, plan=journal.plan, manifest=journal.manifest)
    return DrainState(step=DrainStep.PLAN, plan=journal.plan)
