"""The group whose offsets are set or migrated, and its live members."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from zkconsumer.clock import Clock, SystemClock
from zkconsumer.offsets.migration.group_offset_store import GroupOffsetStore
from zkconsumer.offsets.migration.plan import MigrationRefused
from zkconsumer.scope import wait_ms

log = logging.getLogger(__name__)

_CHECK_INTERVAL_MS = 250
"""The interval at which to check whether the last member has left."""


@dataclass(frozen=True, slots=True)
class MigratedGroup:
    """A group, and all stores that know its members or its offsets.

    Attributes:
        group_id: the group.
        storages: the stores to read members from, whatever the direction: members with offsets in
            Kafka may be registered in ZooKeeper.
        clock: the time source for deadlines.
    """

    group_id: str
    storages: Sequence[GroupOffsetStore]
    clock: Clock = field(default_factory=SystemClock)

    def members(self) -> list[str]:
        """Return the live members, from all stores."""
        return [member for storage in self.storages for member in storage.members()]

    def await_silence(self, wait_limit_ms: int) -> None:
        """Wait until no member is alive.

        Raises:
            MigrationRefused: the group still has members; names them.
        """
        deadline_ms = self.clock.now_ms() + wait_limit_ms
        reported = False
        while members := self.members():
            if self.clock.now_ms() >= deadline_ms:
                waited = f" after {wait_limit_ms} ms" if wait_limit_ms else ""
                raise MigrationRefused(
                    self.group_id,
                    [
                        f"it still has members{waited}: {', '.join(members)}: stop them first (a "
                        "crashed member disappears when its session ends: give a larger "
                        "--wait-ms)"
                    ],
                )
            if not reported:
                log.warning(
                    "group %s: waiting for members to leave: %s", self.group_id, ", ".join(members)
                )
                reported = True
            wait_ms(min(_CHECK_INTERVAL_MS, deadline_ms - self.clock.now_ms()))
