"""Membership in groups of ZooKeeper, of a coordinator, or none, for both public consumers."""
