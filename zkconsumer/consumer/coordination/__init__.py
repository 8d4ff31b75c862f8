"""Membership in a coordinator's group: threads, connections and commits."""
