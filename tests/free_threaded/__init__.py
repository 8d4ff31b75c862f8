"""Threads without a GIL between them: what they share is stressed, and what they do is timed."""
