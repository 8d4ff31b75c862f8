"""Notifications to real receivers on this machine."""
