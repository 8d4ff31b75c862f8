"""Proves from the landed rows that every offset exists exactly once."""
