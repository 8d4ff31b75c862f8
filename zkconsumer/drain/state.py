"""The state of a drain, from which the next step follows: it is in its storage alone. Pure.

A run killed at any point leaves one of these states, from which the next run continues:

| storage holds | next |
|---|---|
| nothing | record the drain's identity |
| no plan; or a manifest for the last plan, and nothing staged | plan the next batch |
| a plan without a manifest | land it, as a new attempt |
| a plan with a manifest, and something staged | publish it, commit the group's offsets, clean |

Staged files are deleted last. As long as they exist, it is unknown whether their batch was
published and the group's offsets committed, so both steps are repeated, which is safe.
"""

from dataclasses import dataclass

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan


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
