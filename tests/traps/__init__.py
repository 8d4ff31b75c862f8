"""MirrorMaker's known traps, and what each mirror does in them: ``python -m tests.traps``."""
