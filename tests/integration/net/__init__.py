"""Connections to real brokers."""
