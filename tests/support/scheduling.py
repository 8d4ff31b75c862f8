"""Decides which tests a worker of pytest-xdist gets."""

import re
from functools import cache
from pathlib import Path
from typing import Final

from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

_SHARED: Final = {
    # A broker of each version, Kafka 4 among them.
    "versions": r"\b(broker_of|group_on|kraft)\b",
    # Brokers with TLS and SASL, for whose users a slow command of Kafka is run.
    "secured": r"\bsecure_broker_of\b",
    "three brokers": r"\b(cluster3|modern3)\b",
    "brokers that are soon missed": r"\bspark\.conftest import .*\bBrokers\b",
    "damaged logs": r"\bdamaged_cluster\b",
    "ZooKeepers alone": r"\btests/contracts/",
}
"""Servers that modules share and that are expensive to start: patterns of a module's text."""


class ByServers(LoadScopeScheduling):
    """Gives a module's tests to one worker, preferably one that has its expensive servers already.

    The first worker that needs such servers owns them, and is given the other modules that need
    them first. Other workers get these only if nothing else is left, so that none is idle at the
    end.
    """

    def _split_scope(self, nodeid: str) -> str:
        return nodeid.partition("::")[0]

    def _assign_work_unit(self, node: WorkerController) -> None:
        chosen = min(self.workqueue, key=lambda module: self._rank(module, node))
        self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)

    def _rank(self, module: str, node: WorkerController) -> int:
        """Return how well a module suits a worker, 0 being best; ties keep their order."""
        needed = _needed(self.config.rootpath / module)
        owners = {
            owner
            for owner, given in self.assigned_work.items()
            if any(needed & _needed(self.config.rootpath / other) for other in given)
        }
        if not owners:
            return 1
        return 0 if node in owners else 2


@cache
def _needed(module: Path) -> frozenset[str]:
    """Return the expensive servers that a test module uses, by its path and its text."""
    text = f"{module.as_posix()}\n{module.read_text('utf-8')}"
    return frozenset(name for name, pattern in _SHARED.items() if re.search(pattern, text))
