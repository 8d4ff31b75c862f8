"""Drains into another, modern cluster."""
