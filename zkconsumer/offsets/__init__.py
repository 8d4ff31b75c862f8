"""Committed offsets: one protocol, one store per place where a group keeps them."""
