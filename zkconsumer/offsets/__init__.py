"""Committed offsets: one protocol, one store for each storage of a group."""
