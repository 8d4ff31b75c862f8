"""The interface between the steps of a drain and a kind of target.

A landing may be killed at any point, and is then called again with the same plan and another
attempt. So the effects of ``land`` must not count before the manifest is written, or ``land`` must
find out what an earlier attempt did; and ``publish`` may find its work done, wholly or in part.
"""

from collections.abc import Mapping
from typing import Protocol

from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan


class Landing(Protocol):
    """Lands batches in a target. Thread: one at a time. Methods raise ``ZkConsumerError``."""

    def prepare(self, plan: BatchPlan) -> Mapping[str, JsonValue]:
        """Return notes to store in the plan. Called once, just before the plan is written."""
        ...

    def land(self, plan: BatchPlan, attempt: str) -> Manifest:
        """Read the messages of the plan's ranges, and stage them where they don't count yet.

        Called only for plans that have ranges. The result is compared with the plan
        (``manifest.check``) and written; that makes the batch landed.

        Args:
            plan: the ranges to read.
            attempt: a name of letters and digits that no earlier attempt had. Earlier attempts may
                still be running (tasks of a killed driver), and must not collide with this one.
        """
        ...

    def publish(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Make the landed batch visible. Idempotent; called until it has returned once."""
        ...
