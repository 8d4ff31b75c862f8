"""Fixtures of the whole test suite, and how Hypothesis runs: by chance, but in CI repeatably."""

import os

from hypothesis import settings

from tests.support.clusters import cluster, cluster3, zookeeper

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

__all__ = ["cluster", "cluster3", "zookeeper"]
