"""Membership in ZooKeeper groups, coordinators' groups, or none, for both public consumers."""
