"""Prove from the landed rows that every offset is there exactly once."""
