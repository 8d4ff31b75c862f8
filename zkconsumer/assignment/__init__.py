"""Who reads which partition: pure functions of what a group's members wrote into ZooKeeper.

Every member computes the whole group's assignment for itself, and must get exactly what the
original's members get: a different result means conflicts without end.
"""
