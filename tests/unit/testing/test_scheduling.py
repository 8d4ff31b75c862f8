"""Modules that share expensive servers run in one worker, unless another one is idle."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.scheduling import ByServers

MODULES = {
    "test_a.py": "kraft: KraftNode",
    "test_b.py": "cluster: Sandbox",
    "test_c.py": "cluster: Sandbox",
    "test_d.py": "broker_of: BrokerOf",
    "test_e.py": "def test(group_on: GroupOn)",
}


class Worker:
    """A worker that records which tests it is given."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.shutting_down = False
        self.given: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        """See ``WorkerController``."""
        self.given += indices

    def shutdown(self) -> None:
        """See ``WorkerController``."""
        self.shutting_down = True


@pytest.fixture
def tests(tmp_path: Path) -> list[str]:
    """Create three tests in each module."""
    for name, text in MODULES.items():
        (tmp_path / name).write_text(text)
    return [f"{name}::test_{number}" for name in MODULES for number in range(3)]


def test_the_worker_with_the_brokers_gets_all_modules_that_use_them(
    tests: list[str], tmp_path: Path
) -> None:
    """The worker that starts brokers gets all modules that use them; an idle one then helps."""
    config: Any = SimpleNamespace(
        rootpath=tmp_path,
        option=SimpleNamespace(loadscopereorder=False),
        getvalue=lambda _name: ["popen", "popen"],
    )
    scheduler = ByServers(config)
    first, second = Worker("first"), Worker("second")
    workers: list[Any] = [first, second]
    for worker in workers:
        scheduler.add_node(worker)
    for worker in workers:
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    for turn in range(6):
        scheduler.mark_test_complete(workers[1], second.given[turn])
    modules = [[tests[index][:6] for index in worker.given[::3]] for worker in (first, second)]
    assert modules == [["test_a"], ["test_b", "test_c", "test_d"]]
    for turn in range(3):
        scheduler.mark_test_complete(workers[0], first.given[turn])
    assert [tests[index][:6] for index in first.given[::3]] == ["test_a", "test_e"]
