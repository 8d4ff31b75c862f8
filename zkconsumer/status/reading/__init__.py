"""Reads a cluster into a snapshot: ZooKeeper, the logs, the coordinators.

``SnapshotReader`` assembles the snapshot; every other module reads one part, and reports why
something could not be read. Nothing here writes, sets a watch, or makes a broker create anything.
"""
