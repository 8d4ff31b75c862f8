"""The interfaces of a drain's runner to progress displays, and to what stops it."""

from typing import Protocol

from zkconsumer.drain.manifest import Manifest
from zkconsumer.drain.plan import BatchPlan, Positions


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
