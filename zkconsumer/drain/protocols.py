"""The interfaces of a drain's runner: to a kind of target, to displays, and to what stops it."""

from collections.abc import Mapping
from typing import Protocol

from zkconsumer.drain.fields import JsonValue
from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, Positions


class Landing(Protocol):
    """Lands batches in a target. Thread: one at a time. Methods raise ``ZkConsumerError``.

    A landing may be killed at any point, and is then called again with the same plan and another
    attempt. So the effects of ``land`` must not count before the manifest is written, or ``land``
    must find out what an earlier attempt did; and ``publish`` may find its work done, wholly or in
    part.
    """

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


class ProgressListener:
    """Is notified of a drain's progress; this implementation ignores it. Methods must not raise."""

    def on_snapshot(self, positions: Positions, until: Positions) -> None:
        """Handle new positions and log ends."""

    def on_landing(self, plan: BatchPlan) -> None:
        """Handle the start of a batch, or its resumption."""

    def on_landed(self, plan: BatchPlan, manifest: Manifest) -> None:
        """Handle a batch that is landed, published and committed to the group."""


class StopRequest(Protocol):
    """A request to stop the drain."""

    def requested(self) -> bool:
        """Return whether to stop before the next batch."""
        ...

    def wait(self, timeout_ms: int) -> None:
        """Wait until ``timeout_ms`` have passed, or a stop is requested."""
        ...
