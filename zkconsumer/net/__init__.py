"""Connections to brokers: bytes through a transport, one request at a time."""
