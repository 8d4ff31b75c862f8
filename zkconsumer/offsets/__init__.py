"""Committed offsets: one protocol, ``OffsetStore``, and an implementation for each storage."""
