"""Bytes to messages and back: pure, described as data, compiled once per message and version."""
