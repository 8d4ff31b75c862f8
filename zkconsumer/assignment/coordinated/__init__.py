"""Assigns partitions to the members of a coordinator's group, on the leader of the group.

Unlike the assignors of ZooKeeper groups, these assign to members, not to streams, and only the
leader computes, so that another client may break ties differently.
"""
