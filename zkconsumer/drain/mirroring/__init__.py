"""Drain into another, modern cluster."""
