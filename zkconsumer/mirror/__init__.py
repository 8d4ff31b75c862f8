"""Mirrors topics of a ZooKeeper-era cluster to any other, and commits acknowledged offsets."""
