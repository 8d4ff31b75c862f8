"""Encodes and decodes messages: pure, described as data, compiled once per message and version."""
