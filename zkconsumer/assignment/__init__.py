"""Assigns partitions to consumer threads, by what a group's members wrote into ZooKeeper. Pure.

Every member computes the whole group's assignment for itself, and must get exactly what the
original's members get: a different result would mean endless conflicts.
"""
