"""Requests metadata, offsets and coordinators of a cluster, and keeps a view of its leaders."""
