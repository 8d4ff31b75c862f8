"""Who reads which partition in a group that a coordinator keeps: the leader assigns for all.

Not to be mixed up with the assignors of the ZooKeeper groups next door: these deal to members, not
to streams, and only the leader computes, so another client may break ties otherwise.
"""
