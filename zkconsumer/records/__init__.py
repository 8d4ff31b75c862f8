"""Decodes and encodes record sets: the bytes of a Fetch or Produce partition."""
