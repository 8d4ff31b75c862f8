"""Fixtures of the whole test suite, and how its tests run.

Hypothesis runs by chance, but in CI repeatably; what takes minutes starts first.
"""

import os

import pytest
from hypothesis import settings

from tests.support.clusters import broker_of, cluster, cluster3, kraft, zookeeper

# Whoever runs the tests may have a configuration of their own.
os.environ["ZKCONSUMER_CONFIG"] = ""

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let nobody wait at the end for a long test that began last."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


__all__ = ["broker_of", "cluster", "cluster3", "kraft", "zookeeper"]
