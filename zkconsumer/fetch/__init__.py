"""Fetch from brokers into chunk queues: positions, requests, leaders, one thread per broker."""
