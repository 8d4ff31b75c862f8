"""Decodes and encodes record sets: the bytes of one partition in Fetch and Produce."""
