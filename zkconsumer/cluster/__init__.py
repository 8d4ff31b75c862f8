"""Brokers and leaders: a snapshot of them, and how to ask for one."""
