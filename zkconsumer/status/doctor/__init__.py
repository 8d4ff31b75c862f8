"""Says what is wrong with a cluster and its groups, by what it sees, and what helps (all pure).

A family of findings a file; ``examine`` asks them all. What to write is planned here, too, against
nodes that were read just before: nothing that changed since it was looked at is touched.
"""
