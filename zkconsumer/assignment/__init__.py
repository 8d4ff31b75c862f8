"""Assigns partitions to consumer threads, by the registrations of a group in ZooKeeper. Pure.

Every member computes the whole group's assignment for itself, and its result must be exactly that
of the original's members: a different one would mean endless conflicts.
"""
