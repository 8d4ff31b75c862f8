"""Writes rows to brokers, in batches and streams."""
