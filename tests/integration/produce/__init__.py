"""Producers on real brokers."""
