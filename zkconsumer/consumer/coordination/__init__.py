"""Membership in a group that a broker coordinates: threads, connections and commits."""
