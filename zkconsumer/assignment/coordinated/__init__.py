"""Who reads which partition in a coordinator's group: the leader assigns for all.

Not to be confused with the assignors of ZooKeeper groups: these assign to members, not to streams,
and only the leader computes, so another client may break ties differently.
"""
