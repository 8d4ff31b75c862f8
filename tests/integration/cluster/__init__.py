"""Requests to real clusters."""
