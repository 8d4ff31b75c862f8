"""MirrorMaker's known faults, and how each mirror behaves in them: ``python -m tests.traps``."""
