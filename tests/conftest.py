"""Fixtures of the whole test suite, and how its tests run.

Hypothesis runs by chance, but in CI repeatably (``make properties`` tries seeds that CI never
sees); what takes minutes starts first.
"""

import gc
import logging
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.clusters import (
    broker_of,
    cluster,
    cluster3,
    damaged_cluster,
    disks,
    kraft,
    large_connect,
    modern3,
    zookeeper,
)
from tests.support.process_table import hear_ctrl_c
from tests.support.shares import examples
from tests.support.wanted import WRITTEN, can_be_wanted, marks_in

hear_ctrl_c()
# Loading thousands of tests makes hardly any garbage: a quarter of its time went into looking.
_THRESHOLDS = gc.get_threshold()
gc.set_threshold(200_000, 20, 20)
# Whoever runs the tests may have a configuration of their own.
os.environ["ZKCONSUMER_CONFIG"] = ""

# How fast this machine is today says nothing of what is tested; and a failure is to be replayed.
settings.register_profile(
    "free",
    deadline=None,
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("ci", settings.get_profile("free"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "free")

_TESTS = Path(__file__).parent
_WITHOUT_SERVERS = [
    _TESTS / name for name in ("golden", "property", "simulation", "threads", "unit")
]
"""``make`` does not even look for tests on real servers here, which takes long."""
_REAL = ("sandbox", "docker", "zk", "spark", "alone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Load no module of which ``-m`` wants nothing."""
    if not collection_path.match("test_*.py"):
        return None
    text = collection_path.read_text("utf-8")
    return None if can_be_wanted(text, config.getoption("markexpr")) else True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests where they are not looked for; let nobody wait at the end for a long one."""
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if _needs_no_server(item.path) and not marks.isdisjoint(_REAL):
            raise pytest.UsageError(f"{item.nodeid}: a test on real servers belongs elsewhere")
        if not marks.isdisjoint(_unwritten(item.path)):
            raise pytest.UsageError(f"{item.nodeid}: no lane finds it by a mark from elsewhere")
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@cache
def _needs_no_server(path: Path) -> bool:
    """Thousands of tests lie in hundreds of files: each is looked at once."""
    return any(map(path.is_relative_to, _WITHOUT_SERVERS))


@cache
def _unwritten(path: Path) -> frozenset[str]:
    """Return the marks without which no test of a module is looked for there."""
    return WRITTEN - marks_in(path.read_text("utf-8"))


def pytest_collection_finish() -> None:
    """Leave what was loaded out of each later collection, which is as often as ever again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Keep modules together, as ``--dist loadscope`` does, and those that share dear servers."""
    if config.getoption("dist") != "loadscope":
        return None
    # Not every environment has xdist.
    from tests.support.scheduling import ByServers  # noqa: PLC0415

    return ByServers(config, log)


@pytest.fixture(autouse=True)
def _logging_as_before() -> Iterator[None]:
    """A command that is run in this process sets up logging, to a stream that is closed by now."""
    root, kazoo = logging.getLogger(), logging.getLogger("kazoo")
    handlers, levels = list(root.handlers), (root.level, kazoo.level)
    yield
    for left in set(root.handlers).difference(handlers):
        root.removeHandler(left)
    root.setLevel(levels[0])
    kazoo.setLevel(levels[1])


__all__ = [
    "broker_of",
    "cluster",
    "cluster3",
    "damaged_cluster",
    "disks",
    "kraft",
    "large_connect",
    "modern3",
    "zookeeper",
]
