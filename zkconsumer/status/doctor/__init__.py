"""Diagnoses a cluster and its groups from snapshots, and plans repairs (all pure).

One file for each family of diagnoses; ``examine`` runs them all. Writes are planned here, too,
against nodes that were just read: a node that changed since the snapshot is not touched.
"""
