"""Fakes that behave like the real thing (held to it by contract suites): for tests only."""
