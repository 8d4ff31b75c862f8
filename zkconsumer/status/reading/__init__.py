"""Reads a cluster into a snapshot: ZooKeeper, the logs, the coordinators.

``SnapshotReader`` puts it together; every other module reads one part, and says of what it could
not read why. Nothing here writes, leaves a watch, or makes a broker create anything.
"""
