"""Brokers and leaders: a snapshot of them, and how to request one."""
