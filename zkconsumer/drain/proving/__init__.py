"""Proves from what is landed that every offset is there exactly once."""
