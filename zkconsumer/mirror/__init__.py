"""Mirrors topics of a ZooKeeper-era cluster to any other, and commits what arrived there."""
