"""Reads a cluster into a snapshot: ZooKeeper, the logs, the coordinators.

``SnapshotReader`` assembles it; every other module reads one part, and reports why something could
not be read. Nothing here writes, leaves a watch, or makes a broker create anything.
"""
