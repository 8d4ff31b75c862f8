"""Fixtures of the whole test suite."""

from tests.support.clusters import cluster, cluster3, zookeeper

__all__ = ["cluster", "cluster3", "zookeeper"]
