"""Who reads which partition: pure functions of what the group has written into ZooKeeper.

Every member computes the whole group's assignment for itself, and must get what the original's
members get, to the bit: another answer means conflicts without end.
"""
